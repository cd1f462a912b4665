package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redrain/internal/loop"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// Depth is the extent of a reconciliation.
type Depth int

// The depths.
const (
	// Sums compares the packets in Redis with the ledger's totals, and reads the rows only if these do not match.
	Sums Depth = iota
	// Rows reads every row. It compares each transaction with its lines, its hash and its source documents, and each
	// payout with the split. It compares each balance with its entries, and each win in Redis with the ledger.
	Rows
)

// campaignReader reads a campaign, even with an invalid row. [ledger.Campaigns] implements it.
type campaignReader interface {
	CampaignAsStored(ctx context.Context, id string) (*rain.Campaign, error)
}

// LiveState reads a campaign's data in Redis. server/commands.go has its only implementation.
type LiveState interface {
	// Snapshot reads each shard of a campaign, each at one moment.
	Snapshot(ctx context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error)
	// EachEntry calls fn for every entry of a shard's outbox up to an id, the oldest first. An unreadable entry has
	// only its reference and the reason. It stops at fn's first error.
	EachEntry(ctx context.Context, c *rain.Campaign, shard int, upTo string,
		fn func(e rain.Entry, unreadable error) error) error
	// EachRecord calls fn for all records of a shard's players in Redis, unordered. A record may come twice, and a
	// new one may be missing. It stops at fn's first error.
	EachRecord(ctx context.Context, c *rain.Campaign, shard int, fn func(rain.Records) error) error
	// WinsOf reads the records of wins by their users and drops. A missing one is zero.
	WinsOf(ctx context.Context, c *rain.Campaign, shard int, of []rain.Win) ([]rain.WinRecord, error)
	// EachBorrowed calls fn with each move that has come to a shard, and its number among the shard's moves,
	// unordered. The number is 0 if the move came before the shard was restored, and -1 if it is invalid. A move that
	// comes meanwhile may be missing.
	EachBorrowed(ctx context.Context, c *rain.Campaign, shard int, fn func(move string, number int64)) error
	// Newest returns the id of the newest entry that a shard has ever written to its outbox, and the shard's epoch.
	// found is false if Redis does not have the shard.
	Newest(ctx context.Context, c *rain.Campaign, shard int) (entry string, epoch int64, found bool, err error)
}

// ErrLiveState is the error of a reconciliation that could not read Redis. It says nothing about the books.
var ErrLiveState = errors.New("the campaign's state in Redis cannot be read")

// errStale means that two reads do not match: a shard was rebuilt, or the campaign's payouts removed, between them.
var errStale = errors.New("a shard was rebuilt, or the campaign's payouts removed, meanwhile")

// tries is the number of attempts of a reconciliation if shards are rebuilt meanwhile.
const tries = 3

// Reconciler compares the ledger with itself and with Redis. It writes nothing. It is safe for concurrent use.
type Reconciler struct {
	db        *sqldb.DB
	campaigns campaignReader
	clock     rain.Clock
	recoverer *loop.Recoverer
	stretch   int // rows that one statement sums
	liveLimit time.Duration
}

// viewLimit bounds one view. The rows of the largest campaign take some minutes.
const viewLimit = 30 * time.Minute

// liveLimit bounds the reading of a campaign's state and outboxes from Redis. Hundreds of thousands of entries take
// some seconds.
const liveLimit = time.Minute

// sumAtOnce is the number of rows that one statement sums, so that no statement exceeds the connection's timeout.
const sumAtOnce = 250_000

// New makes a reconciler of a ledger's database. clock gives the times of results. recoverer gets panics. If it is
// nil, they are only logged.
func New(db *sqldb.DB, campaigns campaignReader, clock rain.Clock, recoverer *loop.Recoverer) *Reconciler {
	return &Reconciler{db: db, campaigns: campaigns, clock: clock, recoverer: recoverer, stretch: sumAtOnce,
		liveLimit: liveLimit}
}

// ReconcileCampaign compares a campaign in Redis with the ledger. Each packet must be in exactly one place. With Sums
// it reads the rows only if the totals do not match. With Rows it checks every row of the ledger that belongs to the
// campaign. Each transaction must sum to zero and match its payouts, and each payout must match the split. Balances
// must be the sums of their entries, and the totals those of the rows. It also compares every win in Redis with the
// ledger. The error is ErrLiveState if Redis cannot be read.
//
// The result is exact even while packets are won, moved and paid. It reads the campaign, then each shard at one
// moment, then the outboxes up to those moments, then the ledger. A posting after a shard's snapshot is left out,
// because its packets are in stock in the snapshot. An entry that was in the outbox and is posted by now counts as
// paid. moves.go describes the count of moving stock.
//
// A drained campaign is checked in the ledger alone. Its wins in Redis are compared while Redis has them.
func (s *Reconciler) ReconcileCampaign(ctx context.Context, id string, live LiveState,
	depth Depth) (Reconciliation, error) {
	return s.reconcile(ctx, id, live, scope{rows: depth != Sums, txns: true})
}

// reconcile reads all rows if the sums do not match. It starts again if a shard was rebuilt between two reads. A
// panic is a finding, and hides no other one.
func (s *Reconciler) reconcile(ctx context.Context, id string, live LiveState, how scope) (Reconciliation, error) {
	how.stretch = s.stretch
	began := s.clock()
	for try := 1; ; try++ {
		how.last = try == tries
		var r *campaignCheck
		err := s.recoverer.Try("reconciliation", func() (err error) {
			if r, err = s.check(ctx, id, live, how); errors.Is(err, errDoubt) {
				how.rows, how.txns = true, true
				r, err = s.check(ctx, id, live, how)
			}
			return err
		})
		if errors.Is(err, loop.ErrPanic) {
			r = &campaignCheck{campaign: &rain.Campaign{ID: id}}
			r.found.add("a check that broke off", "the check of the campaign broke off, so nothing of it is proved: %v",
				err)
			err = nil
		}
		if errors.Is(err, errStale) && !how.last {
			continue
		}
		if err != nil {
			return Reconciliation{}, fmt.Errorf("reconcile campaign %s: %w", id, err)
		}
		result := r.result()
		result.CheckedAt = s.clock()
		result.TookMS = result.CheckedAt - began
		return result, nil
	}
}

// errDoubt means that the sums do not match.
var errDoubt = errors.New("the sums do not match")

// check reads a campaign, its state in Redis, and its rows in the ledger.
func (s *Reconciler) check(ctx context.Context, id string, live LiveState, how scope) (*campaignCheck, error) {
	c, err := s.campaigns.CampaignAsStored(ctx, id)
	if err != nil {
		return nil, err
	}
	r := newCampaignCheck(c, nil, how)
	if r.amounts == nil {
		return r, s.db.View(ctx, viewLimit, r.readBooks)
	}
	removed, err := chain.Removed(ctx, s.db, []string{id})
	if err != nil {
		return nil, err
	}
	if removed[id] {
		return r, s.db.View(ctx, viewLimit, r.checkRemoved)
	}
	// Redis after the campaign and before the ledger: the ledger's newer rows are then left out.
	reading, cancel := context.WithTimeout(ctx, s.liveLimit)
	defer cancel()
	withLive, err := readLive(reading, c, live, how)
	switch {
	case err == nil:
		r = withLive
	case !c.Drained:
		return nil, fmt.Errorf("%w: %w", ErrLiveState, err)
	}
	return r, s.db.View(ctx, viewLimit, r.read)
}

// readLive reads the shards and the outboxes.
func readLive(ctx context.Context, c *rain.Campaign, live LiveState, how scope) (*campaignCheck, error) {
	shards, err := live.Snapshot(ctx, c)
	if err != nil {
		return nil, err
	}
	how.live = live
	r := newCampaignCheck(c, shards, how)
	err = r.readOutbox(ctx)
	return r, err
}

// read reads the ledger in one snapshot.
func (r *campaignCheck) read(ctx context.Context, tx *sqldb.Tx) error {
	if removed, err := chain.Removed(ctx, tx, []string{r.campaign.ID}); err != nil {
		return err
	} else if len(removed) > 0 {
		return errStale // the removal of its payouts has begun since Redis was read
	}
	steps := []step{r.checkSettings, r.readEpochs, r.readReclaims, r.readMoves, r.place, r.readLetters}
	if r.scope.rows {
		steps = append(steps, r.checkPayouts)
	} else {
		steps = append(steps, r.readPaid, r.readTally)
	}
	steps = append(steps, r.placeReclaims, r.checkEscrow, r.checkTally, r.readHeld, r.checkLater, r.checkShards)
	if err := r.run(ctx, tx, steps); err != nil {
		return err
	}
	if !r.scope.rows {
		if r.suspect || r.sums().Difference != 0 || len(r.found.texts) > 0 || r.counted() && !r.fits() {
			return errDoubt
		}
		return r.run(ctx, tx, []step{r.compareOutbox})
	}
	if r.scope.txns {
		steps = []step{r.checkTxns}
	} else {
		steps = nil
	}
	return r.run(ctx, tx, append(steps, r.compareOutbox, r.compareRecords, r.checkForgotten))
}

// readBooks checks a campaign with an invalid row. Its packets and amounts are unknown. So only the sums and the
// transactions are checked, without Redis.
func (r *campaignCheck) readBooks(ctx context.Context, tx *sqldb.Tx) error {
	r.scope.rows, r.scope.txns, r.scope.live = true, true, nil
	return r.run(ctx, tx, []step{r.readReclaims, r.readLetters, r.checkPayouts, r.checkEscrow, r.checkTally, r.readHeld,
		r.checkTxns})
}

// step is a part of a reconciliation.
type step func(context.Context, sqldb.Querier) error

// run runs steps one after the other. Unreadable rows are a finding, and hide no other one.
func (r *campaignCheck) run(ctx context.Context, q sqldb.Querier, steps []step) error {
	for _, step := range steps {
		err := step(ctx, q)
		if sqldb.IsUnreadable(err) {
			r.found.add("rows that cannot be read", "rows of the campaign cannot be read or added up, so they were "+
				"tampered with: %v", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
