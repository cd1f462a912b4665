package posting

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// Errors of posting. Errors of the database are wrapped unchanged.
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
// node sealed it, its campaign is closed in the ledger, and its packets are unassigned.
//
// Everything else becomes a dead letter until an operator retries it, and does not stop the rest. Examples are a
// packet that is paid to another player, more than the escrow holds, and an invalid entry. A reclaim is posted
// without its assigned packets.
//
// An entry of an earlier epoch is void if the ledger did not have it at the rebuild of its shard. A void entry is
// kept, and never paid.
//
// It fills in the amounts of the entries.
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
	var doubts doubts
	err = p.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		b, err := p.classified(ctx, tx, entries, doubts.care())
		if err != nil {
			return err
		}
		b.verdictOf = verdicts
		if posted, err = p.write(ctx, tx, b); err != nil {
			return doubts.about(err)
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
func (p *Poster) classified(ctx context.Context, tx *sqldb.Tx, entries []rain.Entry, with care) (*batch, error) {
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

// doubts are the causes of earlier tries of a posting, all of which were rolled back.
type doubts struct {
	careful bool // an amount or a count was impossible: read everything
	met     bool // another transaction was first
}

// care returns the extent of the next try's reads.
func (d *doubts) care() care {
	switch {
	case d.careful:
		return careful
	case d.met:
		return thorough
	}
	return quick
}

// about decides whether an error allows another try. Too little escrow or too many wins means that an entry is
// invalid. A duplicate normally means that another worker was faster, and a new read shows that. At the second
// duplicate, a player may have won with the same drop before.
func (d *doubts) about(err error) error {
	second := sqldb.IsDuplicate(err)
	tooMuch := errors.Is(err, booking.ErrInsufficientFunds) || errors.Is(err, errTooMany)
	if !second && (!tooMuch || d.careful) {
		return err
	}
	d.careful = d.careful || tooMuch || d.met
	d.met = d.met || second
	return fmt.Errorf("%w: %w", sqldb.ErrAgain, err)
}

// stillInBounds checks at the end of a posting that no fence or reclaim was committed since the batch was classified.
// If one was, the posting starts again. A fence, a reclaim and a posting lock the escrow until their commit. So
// either the fence came first and is seen here, or it waits, and the rebuild then reads this posting. Dead letters
// move no money, so this locks their escrow.
func (b *batch) stillInBounds(ctx context.Context, tx *sqldb.Tx) error {
	locked := map[booking.Account]bool{}
	for _, d := range b.letters {
		locked[booking.EscrowAccount(d.Campaign)] = true
	}
	_, escrows := booking.InKeyOrder(locked)
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

// stateSettled is the state of every payout and the column's default: the row is written with the money.
const stateSettled = "settled"

var intoPayout = sqldb.Into{Table: "payout", Columns: []string{
	"campaign_id", "packet", // the key
	"user_id", "amount", "drop_id", "shard", "won_at", "entry_seq", "settled_at", "txn_id", "claim",
}} // the state is the column's default

var reclaimColumns = []string{
	"campaign_id", "shard", "numbers", "packets", "amount", "closed_at", "entry_seq", "reclaimed_at", "txn_id",
}

// write carries out the decisions of classify.
func (p *Poster) write(ctx context.Context, tx *sqldb.Tx, b *batch) (Posted, error) {
	now := p.clock()
	if err := p.limitLetters(ctx, tx, b); err != nil {
		return Posted{}, err
	}
	b.sumPapers(now)
	b.hold(now)
	if err := b.leaveOutHeld(ctx, tx); err != nil {
		return Posted{}, err
	}
	_, err := booking.Book(ctx, tx, now, b.txns, func(done booking.Booked) error {
		if err := p.writePayouts(ctx, tx, b, done.IDs, now); err != nil {
			return err
		}
		if err := p.writeReclaims(ctx, tx, b, done.IDs, now); err != nil {
			return err
		}
		if err := b.writeHeld(ctx, tx, done.IDs, now); err != nil {
			return err
		}
		totals, err := countWins(ctx, tx, b)
		if err != nil {
			return err
		}
		for i := range b.settled {
			b.settled[i].Total = totals[playerKey{b.settled[i].Campaign, b.settled[i].User}]
		}
		if err := WriteLetters(ctx, tx, b.letters, now); err != nil {
			return err
		}
		if err := WriteLetters(ctx, tx, b.voids, now); err != nil {
			return err
		}
		return fillBalances(ctx, tx, b.settled, done.Moves)
	})
	if err != nil {
		return Posted{}, err
	}
	if err := writeMarks(ctx, tx, b, now+farFutureMS); err != nil {
		return Posted{}, err
	}
	// The campaign's row is last, as its escrow is in Book: all workers want it.
	return Posted{Settled: b.settled, New: len(b.wins), Dead: b.letters, Dropped: b.dropped, Void: b.voids,
			Cut: b.cuts, Held: len(b.held)},
		Tally(ctx, tx, b.totals)
}

func (p *Poster) writePayouts(ctx context.Context, tx *sqldb.Tx, b *batch, ids map[string]int64, now int64) error {
	// In key order, as all rows that several workers insert.
	return tx.InsertEach(ctx, intoPayout, len(b.wins), func(i int, r *sqldb.Row) {
		w := &b.wins[i]
		r.Text(w.ref.Campaign)
		r.Int(int64(w.win.Packet))
		r.Text(w.win.User)
		r.Int(int64(w.win.Amount))
		r.Text(w.win.Drop)
		r.Int(int64(w.ref.Shard))
		r.Int(w.ms)
		r.Int(w.seq)
		r.Int(now)
		r.Int(ids[w.key])
		r.Text(w.claim)
	})
}

func (p *Poster) writeReclaims(ctx context.Context, tx *sqldb.Tx, b *batch, ids map[string]int64, now int64) error {
	rows := make([][]any, len(b.reclaims))
	for i, r := range b.reclaims {
		rows[i] = []any{
			r.ref.Campaign, r.ref.Shard, r.asked.String(), r.packets, int64(r.amount), r.ms, r.seq, now, ids[r.key],
		}
	}
	if err := tx.Insert(ctx, "reclaim", reclaimColumns, rows, sqldb.Merge{}); err != nil {
		return err
	}
	cuts := make([][]any, len(b.cuts))
	for i, c := range b.cuts {
		ms, seq, err := c.Ref.Position()
		if err != nil {
			return err
		}
		cuts[i] = []any{c.Ref.Campaign, c.Ref.Shard, ms, seq, int64(c.Asked), int64(c.Given),
			c.numbers.String(), c.Reason, now}
	}
	return tx.Insert(ctx, "reclaim_cut", []string{"campaign_id", "shard", "closed_at", "entry_seq", "asked", "given",
		"numbers", "reason", "created_at"}, cuts, sqldb.Merge{})
}

// fillBalances sets the balance in each settlement. The posting knows those that it has changed, and reads the
// others.
func fillBalances(ctx context.Context, tx *sqldb.Tx, settled []Settlement, moves booking.Movements) error {
	var users []string
	var open []int // settlements of players whose balance did not change
	for i := range settled {
		balance, known := moves.Balance(booking.UserAccount(settled[i].User))
		settled[i].Balance = balance
		if !known {
			users, open = append(users, settled[i].User), append(open, i)
		}
	}
	slices.Sort(users)
	others, err := booking.UserBalances(ctx, tx, slices.Compact(users))
	if err != nil {
		return err
	}
	for _, i := range open {
		settled[i].Balance = others[settled[i].User]
	}
	return nil
}

// MayBePoison reports whether an entry, and not the database, may be the cause of a failed posting. Entries of a
// campaign with an invalid row must not block others.
func MayBePoison(err error) bool {
	return sqldb.IsRefused(err) || errors.Is(err, booking.ErrUnbalanced) || errors.Is(err, ErrUnreadableCampaign)
}
