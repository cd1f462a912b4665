package confirm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/rain"
)

// With --confirm stream a shard has epochs, and the stream decides which master of Redis has the newest one. Two
// masters that both take taps (a split brain) may give one packet to two players. Only one of them can confirm a win.
//
// The newest record of a shard is a message in the stream of its wins: a number, and the holder. The holder is the
// replication id of a master (INFO replication), which names one history of writes: it changes at each promotion and
// restart. Redis has the same in the field claim of the shard's state, so a replica copies it. Each message with wins
// names the epoch under which it was published.
//
//	            a newer record of another master
//	   ┌─────────────────────────────────────────► superseded ─┐
//	   │                                                       │ for a while, and no node sees the holder
//	  open ◄──── Redis has the stream's wins ──── suspected    │
//	   │                                           ▲     │     │
//	   │    the master's replication id is new,    │     │ Redis lacks a win
//	   └── and it has claimed the next number ─────┘     ▼     ▼
//	                                                     lost ◄─── Redis has forgotten (BEHIND, NOSTATE, Watch)
//	  open, with the record of the rebuild ◄─ rebuilding ◄─┘ BeginRebuild; the rebuild claims the next number
//
// open: wins are confirmed. suspected: this master has the epoch, and is compared with the stream. superseded (fenced):
// nothing is confirmed nor leaves the outbox; the master is neither rebuilt nor taken for lost while another one holds
// the epoch. lost: the state has no revision, every script refuses. rebuilding: see server/campaigns/rebuilder.go.
//
// Why no packet is confirmed for two players:
//
//   - A win is confirmed if its message is in the stream and the record, read after that, is still that of its epoch.
//     So a confirmed win's message precedes the next claim.
//   - A master claims before its first confirmation. Then it reads the messages that precede the claim. If Redis lacks
//     one of their wins, the shard is lost. So the new master has all confirmed wins, or is rebuilt with them.
//   - A message behind the claim of a higher number is ignored by all readers (pipeline). It was never confirmed.
//   - A claim is compare-and-set in the stream. In Redis it is set before, and every failover candidate has it. So the
//     claim of number n+1 in Redis always descends from the record n.

// errSuperseded means that a master does not have the shard's newest epoch.
var errSuperseded = fmt.Errorf("another redis holds the shard, and this one is an old master or a copy: %w",
	store.ErrOtherRedis)

// errNoHistory means that a server does not report its replication id.
var errNoHistory = errors.New("redis does not report its master_replid in INFO replication: --confirm stream needs it")

// patience is the time after which a superseded master is lost. By then a Cluster's map has been read many times. If
// the holder is a rebuild, even that of a large campaign has ended.
func patience(r rain.Epoch) time.Duration {
	if r.IsRebuild() {
		return 5 * time.Minute
	}
	return 20 * time.Second
}

// epochs knows which shards' epochs their masters hold.
type epochs struct {
	replicas *replicas
	claims   *store.Claims
	wins     *store.Wins
	stream   Publisher
	others   Others
	log      *slog.Logger
	patience func(r rain.Epoch) time.Duration // that function; tests have another

	mu    sync.Mutex
	known map[shardKey]*shardEpoch
}

// Others are the other nodes.
type Others interface {
	// IsSeen reports whether a node sees a master with that replication id.
	IsSeen(ctx context.Context, history string) bool
	// Superseded notifies that this node's Redis is not the one that holds the epoch of a shard. It is called again and
	// again.
	Superseded(campaign string, shard int)
}

type shardKey struct {
	campaign string
	shard    int
}

// shardEpoch is this node's knowledge of a shard.
type shardEpoch struct {
	record rain.Epoch
	// superseded is the time since when a record supersedes the shard's master; zero: none does.
	superseded time.Time
	by         rain.Epoch
}

// under runs the reads of look on a shard's master, as readReplicated does. It returns the record of the epoch if that
// master holds it. Otherwise it makes the master the holder if it may.
func (e *epochs) under(ctx context.Context, campaign string, shard int, look func(redis.Pipeliner)) (held rain.Epoch,
	err error) {
	key := shardKey{campaign, shard}
	for isFresh := false; ; {
		r, err := e.record(ctx, key, isFresh) // first, so that Redis is read later than the stream
		if err != nil {
			return held, err
		}
		is, history, err := e.read(ctx, key, look)
		if err != nil {
			return held, err
		}
		now := stand(parseClaim(is.Text), history, r)
		if now == isOpen {
			e.setSuperseded(key, rain.Epoch{})
			return r, nil
		}
		if !isFresh { // the next step follows from the stream's present record
			isFresh = true
			continue
		}
		err = e.advance(ctx, key, now, is, history, r)
		if errors.Is(err, rain.ErrEpochClaimed) {
			err = ctx.Err() // another node has; the next round sees its record
		}
		if err != nil {
			return held, err
		}
	}
}

// read runs the reads of look on a shard's master, and reads its claim and its replication id.
func (e *epochs) read(ctx context.Context, key shardKey, look func(redis.Pipeliner)) (is store.Claim, history string,
	err error) {
	k := e.replicas.store.Keys(key.campaign, key.shard)
	var answer *redis.SliceCmd
	history, err = e.replicas.readReplicated(ctx, k, func(p redis.Pipeliner) {
		look(p)
		answer = e.claims.Read(ctx, p, k)
	})
	if err != nil {
		return is, "", err
	}
	is, err = store.ParseClaim(answer)
	switch {
	case err != nil:
	case !is.Known:
		err = fmt.Errorf("shard %d of campaign %s: %w: %w", key.shard, key.campaign, ErrForgotten, store.ErrNoState)
	case history == "":
		err = errNoHistory
	}
	return is, history, err
}

// advance takes the next step of a master that is not open. Each step may be repeated, by any node.
func (e *epochs) advance(ctx context.Context, key shardKey, now standing, is store.Claim, history string,
	r rain.Epoch) (err error) {
	c := parseClaim(is.Text)
	switch now {
	case isSuccessor:
		next := claim{number: max(r.Number, c.number) + 1, holder: history}
		if c.number == r.Number+1 {
			next.number = c.number // in the place of its predecessor's, which has not come to the stream
		}
		_, err = e.claims.Replace(ctx, key.campaign, key.shard, is.Text, next.String())
	case hasBegun:
		_, err = e.claim(ctx, key, r, rain.Epoch{Number: c.number, Holder: history, Moves: r.Moves, From: r.From})
	case isSuspected:
		err = e.check(ctx, key, is, r)
	default:
		err = e.yield(ctx, key, is, history, r)
	}
	return err
}

// record returns the newest record of a shard that this node knows. With isFresh it asks the stream.
func (e *epochs) record(ctx context.Context, key shardKey, isFresh bool) (r rain.Epoch, err error) {
	e.mu.Lock()
	known := e.known[key]
	if known != nil {
		r = known.record
	}
	e.mu.Unlock()
	if known != nil && !isFresh {
		return r, nil
	}
	r, err = e.stream.Record(ctx, key.campaign, key.shard)
	if err == nil {
		e.remember(key, r)
	}
	return r, err
}

func (e *epochs) remember(key shardKey, r rain.Epoch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(key).record = r
}

// of returns this node's knowledge of a shard. It needs e.mu.
func (e *epochs) of(key shardKey) *shardEpoch {
	if e.known[key] == nil {
		e.known[key] = &shardEpoch{}
	}
	return e.known[key]
}

// claim stores a record in the stream in the place of another one.
func (e *epochs) claim(ctx context.Context, key shardKey, was, next rain.Epoch) (rain.Epoch, error) {
	r, err := e.stream.Claim(ctx, key.campaign, key.shard, was.Seq, next)
	if err == nil {
		e.remember(key, r)
		if !r.Same(was) {
			e.log.Info("a shard has a new epoch", "campaign", key.campaign, "shard", key.shard, "number", r.Number,
				"holder", r.Holder)
		}
	}
	return r, err
}

// isHeld reports whether a record is still that of the shard's epoch.
func (e *epochs) isHeld(ctx context.Context, key shardKey, r rain.Epoch) (bool, error) {
	now, err := e.record(ctx, key, true)
	return err == nil && now.Same(r), err
}

// check compares a shard's master with the stream. If it has all wins that precede its claim, it is marked as checked.
// Otherwise the shard is lost.
func (e *epochs) check(ctx context.Context, key shardKey, is store.Claim, r rain.Epoch) error {
	lacks, err := e.lacks(ctx, key, is, r)
	switch {
	case err != nil:
		return fmt.Errorf("compare shard %d of campaign %s with the stream: %w", key.shard, key.campaign, err)
	case lacks == "":
		_, err = e.claims.Replace(ctx, key.campaign, key.shard, is.Text, is.Text+checkedMark)
		return err
	}
	e.log.Error("redis has lost a part of a shard; the shard takes no taps until it is rebuilt", "campaign",
		key.campaign, "shard", key.shard, "lacks", lacks)
	if err := e.claims.Lose(ctx, key.campaign, key.shard, is.Text); err != nil {
		return err
	}
	return fmt.Errorf("shard %d of campaign %s lacks %s: %w", key.shard, key.campaign, lacks, store.ErrBehind)
}

// lacks names something that the stream has of a shard, and its master does not; or "".
func (e *epochs) lacks(ctx context.Context, key shardKey, is store.Claim, r rain.Epoch) (lacks string, err error) {
	if is.Moves < r.Moves {
		return fmt.Sprintf("move %d", r.Moves), nil
	}
	var page []*entry
	compare := func() error {
		if len(page) == 0 || lacks != "" {
			return nil
		}
		found, err := e.wins.ReadWins(ctx, key.campaign, key.shard, fieldsOf(page))
		confirmRecorded(page, found)
		for _, one := range page {
			if !one.confirmed {
				lacks = "entry " + one.sample.Entry
			}
		}
		page = page[:0]
		return err
	}
	err = e.stream.Newest(ctx, key.campaign, key.shard, r.From, func(of rain.Entry) error {
		if of.Reclaim != nil && !is.Closed {
			lacks = "its closing, entry " + of.Ref.ID
		}
		if len(of.Wins) == 0 {
			return nil
		}
		page = append(page, &entry{sample: rain.WinRecord{Win: of.Wins[0], Entry: of.Ref.ID}})
		if len(page) < comparedAtOnce {
			return nil
		}
		return compare()
	})
	if err == nil {
		err = compare()
	}
	return lacks, err
}

// comparedAtOnce is the number of entries that are looked up in one call.
const comparedAtOnce = 200

// yield handles a superseded master. It has a Cluster's map read again, which usually shows the holder. If the
// master stays superseded and no node sees the holder, the holder is gone, and the shard is lost. So it is at once if
// this master is the holder and has another claim: the shard was rebuilt in a mode without epochs.
func (e *epochs) yield(ctx context.Context, key shardKey, is store.Claim, history string, r rain.Epoch) error {
	if history == r.Holder {
		return e.claims.Lose(ctx, key.campaign, key.shard, is.Text)
	}
	since := e.setSuperseded(key, r)
	e.replicas.store.ReloadTopology(ctx)
	if time.Since(since) < e.patience(r) || e.others != nil && e.others.IsSeen(ctx, r.Holder) {
		return fmt.Errorf("shard %d of campaign %s: %w", key.shard, key.campaign, errSuperseded)
	}
	e.log.Error("redis has an old copy of a shard, and the newer one is gone; the shard takes no taps until it is "+
		"rebuilt", "campaign", key.campaign, "shard", key.shard)
	return e.claims.Lose(ctx, key.campaign, key.shard, is.Text)
}

// setSuperseded notes the record that supersedes a shard's master, and returns since when. The zero record means that
// none does.
func (e *epochs) setSuperseded(key shardKey, by rain.Epoch) time.Time {
	e.mu.Lock()
	known := e.of(key)
	was := known.superseded
	switch {
	case by.Number == 0:
		known.superseded = time.Time{}
	case was.IsZero() || !by.Same(known.by):
		known.superseded, known.by = time.Now(), by
	}
	since := known.superseded
	e.mu.Unlock()
	if was.IsZero() && !since.IsZero() {
		e.log.Error("another redis holds a shard; this node does not confirm wins on its own", "campaign", key.campaign,
			"shard", key.shard)
	}
	if !since.IsZero() && e.others != nil {
		e.others.Superseded(key.campaign, key.shard)
	}
	return since
}

// isSuperseded reports whether this node has found a shard's master to be superseded.
func (e *epochs) isSuperseded(campaign string, shard int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.known[shardKey{campaign, shard}]
	return known != nil && !known.superseded.IsZero()
}

// forget drops a campaign.
func (e *epochs) forget(campaign string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.known, func(key shardKey, _ *shardEpoch) bool { return key.campaign == campaign })
}

// lend stores the number of a move of stock in the record of the shard that has lent. From then on no master without
// this move can hold the shard.
func (e *epochs) lend(ctx context.Context, key shardKey, r rain.Epoch, number int64) error {
	for r.Moves < number {
		next := r
		next.Moves = number
		_, err := e.claim(ctx, key, r, next)
		if err == nil || !errors.Is(err, rain.ErrEpochClaimed) {
			return err
		}
		now, err := e.record(ctx, key, true)
		if err != nil {
			return err
		}
		if !now.Same(r) {
			return errStepLost
		}
		r = now
	}
	return nil
}

// Holds returns nil if the master of a shard has its present state: if it holds the epoch. In the modes without epochs
// a Cluster's map is read again, so that the next call meets the present master.
func (c *Confirmer) Holds(ctx context.Context, campaign string, shard int) error {
	if c.mode != Stream {
		return c.store.EachMaster(ctx, func(context.Context, string, redis.Cmdable) {}) // it reads the map first
	}
	// This node may not know the newest record: it is confirming nothing that would show it.
	_, err := c.epochs.record(ctx, shardKey{campaign, shard}, true)
	if err == nil {
		_, err = c.epochs.under(ctx, campaign, shard, func(redis.Pipeliner) {})
	}
	return err
}
