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

// Poster brings outbox entries into the ledger. It is safe for concurrent use, here and by any number of processes on
// one database.
type Poster struct {
	db    *sqldb.DB
	clock rain.Clock
	locks entryLocks
	terms *termsReader
	seals *Seals
	bans  *standing.Sanctions

	verdicts *standing.Verdicts // nil: they hold nothing
}

// NewPoster makes a poster of a migrated database. clock gives the times that are written to it.
func NewPoster(db *sqldb.DB, clock rain.Clock, campaigns CampaignReader, amounts *rain.AmountsCache,
	seals *Seals) *Poster {
	return &Poster{db: db, clock: clock, terms: newTermsReader(campaigns, amounts), seals: seals,
		bans: standing.NewSanctions()}
}

// Errors of posting. What a database says is wrapped as it is.
var (
	ErrUnknownCampaign    = errors.New("no such campaign")
	ErrUnreadableCampaign = errors.New("the campaign's database row is invalid")
	ErrRebuildSuperseded  = errors.New("another rebuild of the shard has begun")
)

// Post brings outbox entries into the ledger, all in one transaction: it takes each campaign's escrow once, credits
// each player once, and gives reclaimed stock back to the sponsor. It may be called with the same entries any
// number of times, by any number of workers at once: what is posted already is found and skipped, and still
// reported as settled, so that who died before telling the player can do so now.
//
// It believes nobody. What a packet holds it computes from the campaign's seed. A win counts that a gateway has sealed,
// with a drop that fell when it was sealed, of a player who has not won with that drop and may still win. A reclaim
// counts that a node has sealed, of a campaign that the ledger knows to be closed, for packets that are nobody's. All
// else becomes a dead letter and does not stop the rest: so does a packet that is paid to someone else, more than the
// escrow holds, an entry that makes no sense. A dead claim stays dead until an operator has it retried. A reclaim that
// asks for packets of which some are somebody's is posted with the others. What is of a shard's epoch before Redis lost
// it, and was not in the ledger when the shard was rebuilt, is void: it is kept, and never paid.
//
// It fills in the amounts of the entries.
//
// After an error nothing is posted, or (where the commit's answer was lost) everything; calling again is right in both.
func (p *Poster) Post(ctx context.Context, entries []rain.Entry) (Posted, error) {
	unlock, err := p.locks.lock(ctx, entries)
	if err != nil {
		return Posted{}, fmt.Errorf("waiting for the worker that posts the same outbox entries: %w", err)
	}
	defer unlock()
	// Whatever a node has let a banned player win is not paid: what was answered before the win is known here.
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
		return Posted{}, fmt.Errorf("posting %d outbox entries: %w", len(entries), err)
	}
	return posted, nil
}

// classified reads what the ledger knows of the entries, and decides what becomes of them. Whether something is paid
// already is looked up only where that may change a decision: of what becomes a letter, nothing may be paid.
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

// readOutsiders reads which players of a batch may win nothing: those who are banned, and what lists say.
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

// doubts are what tries of a posting have met, each of which was rolled back.
type doubts struct {
	careful bool // some of it cannot be: find out what
	met     bool // another transaction came first with something
}

// care is how much the next try reads.
func (d *doubts) care() care {
	switch {
	case d.careful:
		return careful
	case d.met:
		return thorough
	}
	return quick
}

// about is what an error means for the next try. More than the escrow holds, or more wins than a player may have,
// cannot be. What is in the ledger already is so as a rule because another worker was faster, which shows when it is
// read again; at the second time it may be that a player has won with the same drop before.
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

// stillInBounds makes sure, at the end of a posting, that no barrier has come up and nothing was given back since it
// was classified; else the posting must be classified again. A fence locks the escrow, and so do a reclaim and a
// posting, until their commit: either the fence came first, and is seen here, or it waits, and who has fenced reads
// this posting. Dead letters move no money, so their escrow is locked here.
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
			return fmt.Errorf("%w: campaign %s gives packets back", sqldb.ErrAgain, campaign)
		}
	}
	return nil
}

// stateSettled is the state of every payout, by the column's default: the row is written with the money.
const stateSettled = "settled"

var intoPayout = sqldb.Into{Table: "payout", Columns: []string{
	"campaign_id", "packet", // the key
	"user_id", "amount", "drop_id", "shard", "won_at", "entry_seq", "settled_at", "txn_id",
}, Made: []string{"claim"}} // and the state is the column's default

var reclaimColumns = []string{
	"campaign_id", "shard", "numbers", "packets", "amount", "closed_at", "entry_seq", "reclaimed_at", "txn_id",
}

// write carries out what classify has decided.
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
	// The campaign's one row is last, as its escrow is in book: all workers want it.
	return Posted{Settled: b.settled, New: len(b.wins), Dead: b.letters, Dropped: b.dropped, Void: b.voids,
			Cut: b.cuts, Held: len(b.held)},
		Tally(ctx, tx, b.totals)
}

func (p *Poster) writePayouts(ctx context.Context, tx *sqldb.Tx, b *batch, ids map[string]int64, now int64) error {
	// They are in key order, as everything that several workers insert.
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
		r.Made(w.claim)
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

// fillBalances tells each settlement its player's balance: those the posting has touched are known, the others are
// read.
func fillBalances(ctx context.Context, tx *sqldb.Tx, settled []Settlement, moves booking.Movements) error {
	var users []string
	var open []int // settlements of players whom the posting has not touched
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

// MayBePoison tells whether a posting has failed because of what was posted, and not because of the database. What is
// of a campaign whose row makes no sense holds up nobody else's.
func MayBePoison(err error) bool {
	return sqldb.IsRefused(err) || errors.Is(err, booking.ErrUnbalanced) || errors.Is(err, ErrUnreadableCampaign)
}
