package posting

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// Poster posts outbox entries to the ledger. It is safe for concurrent use, also by several processes on one
// database.
type Poster struct {
	db    *sqldb.DB
	clock rain.Clock
	locks entryLocks
	terms *termsReader
	seals *Seals
	bans  *standing.Sanctions

	verdicts *standing.Verdicts // nil: wins are not held
}

// NewPoster makes a poster for a migrated database. clock gives the times that are written to it.
func NewPoster(db *sqldb.DB, clock rain.Clock, campaigns CampaignReader, amounts *rain.AmountsCache,
	seals *Seals) *Poster {
	return &Poster{db: db, clock: clock, terms: newTermsReader(campaigns, amounts), seals: seals,
		bans: standing.NewSanctions()}
}

// Errors of posting. Database errors stay in the chain: errors.Is finds them.
var (
	ErrUnknownCampaign    = errors.New("no such campaign")
	ErrUnreadableCampaign = errors.New("the campaign's database row is invalid")
	ErrRebuildSuperseded  = errors.New("another rebuild of the shard has begun")
)

// Post posts outbox entries in one transaction: it debits each campaign's escrow once, credits each player once, and
// returns reclaimed stock to the sponsor. Any number of workers may call it with the same entries any number of
// times. A posted entry is skipped and still reported as settled, so that its player is notified even if an earlier
// worker died.
//
// Post trusts no entry. It computes amounts from the campaign's seed. It accepts a win if a gateway sealed it while
// its drop fell. The player must not have won with that drop, and must be allowed to win. It accepts a reclaim if a
// node sealed it, its campaign is closed in the ledger, and its packets are not taken.
//
// Everything else becomes a dead letter until an operator retries it, and does not stop the rest. Examples are a
// packet that is paid to another player, more than the escrow holds, and an invalid entry. A reclaim is posted without
// its taken packets.
//
// An entry of an earlier epoch is void if the ledger did not have it at the rebuild of its shard. A void entry is
// kept, and never paid.
//
// Post changes its argument: it sets the amount of each win.
//
// After an error nothing is posted, or everything if only the commit's answer was lost. A second call is right in
// both cases.
func (p *Poster) Post(ctx context.Context, entries []rain.Entry) (Posted, error) {
	unlock, err := p.locks.lock(ctx, entries)
	if err != nil {
		return Posted{}, fmt.Errorf("wait for the worker that posts the same outbox entries: %w", err)
	}
	defer unlock()
	// A banned player's win is not paid, even if a node accepted it: bans that precede the win are read here.
	if _, err := p.bans.Refresh(ctx, p.db); err != nil {
		return Posted{}, err
	}
	verdicts, err := p.verdictsNow(ctx)
	if err != nil {
		return Posted{}, err
	}
	var posted Posted
	with := quick
	err = p.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		b, err := p.classified(ctx, tx, entries, with)
		if err != nil {
			return err
		}
		b.verdictOf = verdicts
		if posted, err = p.write(ctx, tx, b); err != nil {
			with, err = with.after(err)
			return err
		}
		return b.stillInBounds(ctx, tx)
	})
	if err != nil {
		return Posted{}, fmt.Errorf("post %d outbox entries: %w", len(entries), err)
	}
	return posted, nil
}

// classified reads the ledger's state for the entries and decides their outcome. If an entry becomes a dead letter,
// it reads again which wins are paid: no dead letter may be about a paid win.
func (p *Poster) classified(ctx context.Context, tx *sqldb.Tx, entries []rain.Entry, with readDepth) (*batch, error) {
	for {
		b, err := p.readBatch(ctx, tx, entries, with)
		if err != nil {
			return nil, err
		}
		if err := p.readOutsiders(ctx, tx, b, entries); err != nil {
			return nil, err
		}
		b.classify(entries...)
		if !b.quick || len(b.letters)+len(b.voids) == 0 {
			return b, nil
		}
		with = thorough
	}
}

// readOutsiders reads which players of a batch may not win: banned ones, and those that lists exclude.
func (p *Poster) readOutsiders(ctx context.Context, q sqldb.Querier, b *batch, entries []rain.Entry) (err error) {
	b.bannedAt = p.bans.BannedAt
	invited := map[string]string{}
	for id, c := range b.campaigns {
		if list := c.Invited(); list != "" {
			invited[id] = list
		}
	}
	b.listed, err = standing.ReadRefusals(ctx, q, invited, usersOf(entries))
	return err
}

// after says how much the next try must read, or returns a final error. Too little escrow or too many wins means that
// an entry is invalid. A duplicate normally means that another worker was faster, and a new read shows that. At the
// second duplicate, a player may have won with the same drop before.
func (d readDepth) after(err error) (readDepth, error) {
	tooMuch := errors.Is(err, booking.ErrInsufficientFunds) || errors.Is(err, errTooMany)
	switch {
	case tooMuch && d < careful:
		d = careful
	case sqldb.IsDuplicate(err):
		d = min(d+1, careful)
	default:
		return d, err
	}
	return d, fmt.Errorf("%w: %w", sqldb.ErrAgain, err)
}

// stillInBounds checks at the end of a posting that no fence or reclaim was committed since the batch was classified.
// If one was, the posting starts again. A fence, a reclaim and a posting lock the escrow until their commit. So either
// the fence came first and is seen here, or it waits, and the rebuild then reads this posting. Book did not lock the
// escrows of dead letters, so stillInBounds locks them.
func (b *batch) stillInBounds(ctx context.Context, tx *sqldb.Tx) error {
	locked := map[booking.Account]bool{}
	for _, d := range b.letters {
		locked[booking.EscrowAccount(d.Campaign)] = true
	}
	_, escrows := booking.InLockOrder(locked)
	if _, err := booking.LockBalances(ctx, tx, escrows); err != nil {
		return err
	}
	now, err := readBounds(ctx, tx, b.asked)
	if err != nil {
		return err
	}
	for key, ms := range now.barriers {
		if b.bounds.barriers[key] != ms {
			return fmt.Errorf("%w: shard %d of campaign %s is being rebuilt", sqldb.ErrAgain, key.shard, key.campaign)
		}
	}
	for _, r := range b.reclaims {
		now.reclaims[r.ref.Campaign]--
	}
	for campaign, n := range now.reclaims {
		if b.bounds.reclaims[campaign] != n {
			return fmt.Errorf("%w: campaign %s returns packets", sqldb.ErrAgain, campaign)
		}
	}
	return nil
}

// MayBePoison reports whether an entry, and not the database, may be the cause of a failed posting. Entries of a
// campaign with an invalid row must not block others.
func MayBePoison(err error) bool {
	return sqldb.IsRefused(err) || errors.Is(err, booking.ErrUnbalanced) || errors.Is(err, ErrUnreadableCampaign)
}

// Settlement is a claim in the ledger.
type Settlement struct {
	Campaign string
	Entry    rain.EntryRef // the outbox entry that contained it
	Claim    string
	User     string
	Packet   int
	Drop     string // the drop that won it
	Amount   rain.Money
	Balance  rain.Money // the player's balance after the posting
	Total    rain.Money // the player's total in the campaign; 0 if this posting has not changed it
	WonAt    int64      // Unix ms
	New      bool       // posted by this call; false if by an earlier one
}

// Posted is the result of [Poster.Post].
type Posted struct {
	Settled   []Settlement // every claim of the entries that is in the ledger now
	New       int          // how many of them are new
	Dead      []DeadLetter // new dead letters of this call
	Void      []DeadLetter // too late: of an earlier epoch of its shard; see Fence
	Discarded int          // forged or unpayable input that was not kept, because many like it are
	Held      int          // wins that this call has held; they are in New and not in Settled
	Cut       []ReclaimCut // reclaims that this call has posted with less than they asked for
}

// ReclaimCut is a reclaim that got less than it asked for.
type ReclaimCut struct {
	Ref    rain.EntryRef
	Asked  rain.Money
	Given  rain.Money
	Reason string

	numbers rain.Numbers // the reclaimed packets
}

// entryLocks lets one worker of this process at a time post an outbox entry. If settlement is slow, the relay
// publishes entries again, and two copies meet. Without the lock, the second transaction waits for the first in the
// database, fails at a unique key, and rolls back. A rollback that removes new players' balances leaves gap locks to
// the waiting transactions, which is a deadlock. Between processes that still happens, rarely, and costs one more
// try.
//
// The zero value is ready.
type entryLocks struct {
	mu   sync.Mutex
	busy map[rain.EntryRef]chan struct{} // closed when the entry is unlocked
}

// lock waits until none of the entries is locked and locks them all at once. No worker waits while it holds a lock,
// so there is no deadlock. The caller must call unlock, unless lock fails.
func (s *entryLocks) lock(ctx context.Context, entries []rain.Entry) (unlock func(), err error) {
	mine := make(chan struct{})
	for holder := s.tryLock(entries, mine); holder != nil; holder = s.tryLock(entries, mine) {
		select {
		case <-holder:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, e := range entries {
			delete(s.busy, e.Ref)
		}
		close(mine)
	}, nil
}

// tryLock locks the entries, or returns the channel of a worker that has locked one of them.
func (s *entryLocks) tryLock(entries []rain.Entry, mine chan struct{}) (holder <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if holder, busy := s.busy[e.Ref]; busy {
			return holder
		}
	}
	if s.busy == nil {
		s.busy = map[rain.EntryRef]chan struct{}{}
	}
	for _, e := range entries {
		s.busy[e.Ref] = mine
	}
	return nil
}
