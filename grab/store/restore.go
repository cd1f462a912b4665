package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// restoredAtOnce is how many ranges or wins go to Redis in one call.
const restoredAtOnce = 500

// errRestoration is a restoration that does not add up.
var errRestoration = errors.New("the packets to restore do not add up")

// Restoration is all that Redis has to know again of a shard.
type Restoration struct {
	// Barrier is an outbox id, "<ms>-<seq>". Every entry from before the loss has an id up to this one, every later
	// one will have a higher one.
	Barrier string
	// Epoch is when the shard was cut off from what was before, Unix ms.
	Epoch int64
	// Closed says that the shard's rest went back to the sponsor: there is no stock any more.
	Closed bool
	// Stock is the packets that can be won, and Reclaimed those that went back to the sponsor.
	Stock, Reclaimed rain.Numbers
	// Borrowed are the moves that have brought stock to this shard, and Moves the highest number of one from or to it
	// that is known.
	Borrowed []string
	Moves    int64
	// Wins calls put with every win that is known and its outbox entry, of which only the ID counts, in the order won.
	// It ends with put's error, or its own. May be nil where there are none.
	Wins func(put func(w rain.Win, entry rain.EntryRef) error) error
	// Top are those who have won most.
	Top []Ranked
}

// Restorer tells Redis again what it has lost.
type Restorer struct{ *client }

// NewRestorer makes a Restorer.
func NewRestorer(s *Store) *Restorer { return &Restorer{s.client} }

// Lost lists the shards of the campaign of which Redis knows nothing, or whose restoration was broken off. What has
// once been opened is missing only after a loss; for a campaign that is loading the answer means nothing. Where Redis
// does not answer for some shards there is an error too, and the answer is of the others.
func (r *Restorer) Lost(ctx context.Context, c *rain.Campaign) (lost []int, err error) {
	revisions := make([]*redis.BoolCmd, Shards(c))
	_, _ = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for shard := range revisions {
			revisions[shard] = p.HExists(ctx, r.keys.shard(c.ID, shard).State, fieldRevision)
		}
		return nil
	})
	var failed error
	for shard, known := range revisions {
		switch there, err := known.Result(); {
		case r.checked(err) != nil:
			failed = err
		case !there:
			lost = append(lost, shard)
		}
	}
	if failed != nil {
		return lost, fmt.Errorf("looking for lost shards of campaign %s: %w", c.ID, failed)
	}
	return lost, nil
}

// RestoreAs tells Redis again what it has forgotten of a shard. The shard has no rain and takes no taps until Apply
// brings the campaign's version. Cut off at any point it has done no harm, and may be run again; where two do it at
// the same time, the one that began last wins, and the other one fails with ErrSuperseded, or with ErrAlive when it
// comes too late.
//
// say is called once Redis has taken this restoration up: whatever restoration began before cannot be finished any
// more. So say is the place to set the barrier where others look for it too: the one that is set last is then always
// that of the shard.
//
// It fails with ErrAlive where the shard is there, and with ErrUnsettled where Redis has lost the state and kept an
// outbox that is not empty. A packet that is there twice, in the stock or won, is an error, and nothing is restored.
//
// The taps that won nothing are not known any more and do not count against taps_per_user; the pacing of a rain that is
// falling begins anew with what is left.
func (r *Restorer) RestoreAs(ctx context.Context, c *rain.Campaign, shard int,
	say func(context.Context) (Restoration, error)) error {
	k, token := r.keys.shard(c.ID, shard), rand.Text()
	run := &restoration{c: c, there: make([]uint64, c.Packets/64+1)}
	run.step = func(step string, args ...any) error {
		return r.run(ctx, r.scripts.restore, k.opening(), append([]any{token, step}, args...)...).Err()
	}
	run.rank = func(top []Ranked) error {
		if err := r.checked(r.rdb.Unlink(ctx, k.Top).Err()); err != nil {
			return err
		}
		return (&Ranking{r.client}).Rank(ctx, []Winners{{Campaign: c.ID, Shard: shard, Totals: top}})
	}
	if err := run.restore(func() (Restoration, error) { return say(ctx) }); err != nil {
		return fmt.Errorf("restoring %s.%d: %w", c.ID, shard, err)
	}
	return nil
}

// restoration is one restoration under way.
type restoration struct {
	c    *rain.Campaign
	step func(step string, args ...any) error // calls the script
	rank func(top []Ranked) error             // makes the board of those who have won most

	there []uint64 // a bit for each packet of the campaign: it has come
	chunk int      // number of the last one
	batch []any    // what goes with the next one
	wins  int
}

func (r *restoration) restore(say func() (Restoration, error)) error {
	if err := r.step("begin", r.c.WinsPerUser, r.c.TapsPerUser); err != nil {
		return err
	}
	what, err := say()
	if err != nil {
		return err
	}
	if !isEntryID(what.Barrier) {
		return fmt.Errorf("%q is not the id of an outbox entry", what.Barrier)
	}
	if what.Closed && len(what.Stock) > 0 {
		return fmt.Errorf("%w: a closed shard with a stock of %d packets", errRestoration, what.Stock.Count())
	}
	if err := r.ranges("stock", what.Stock); err != nil {
		return err
	}
	if err := r.ranges("back", what.Reclaimed); err != nil {
		return err
	}
	for _, move := range what.Borrowed {
		if err := r.send("moves", 1, move); err != nil {
			return err
		}
	}
	if err := r.flush("moves"); err != nil {
		return err
	}
	if what.Wins != nil {
		if err := what.Wins(r.win); err != nil {
			return err
		}
	}
	if err := r.flush("wins"); err != nil {
		return err
	}
	if err := r.rank(what.Top); err != nil {
		return err
	}
	status := rain.Open
	if what.Closed {
		status = rain.Closed
	}
	// There may have been moves that nobody knows of but the nodes that have met the shard. Each epoch counts its
	// moves from its own time on, so what a node has heard of an earlier one is always less.
	moves := max(what.Moves, what.Epoch)
	return r.step("finish", string(status), what.Stock.Count(), r.wins, what.Barrier, moves, what.Epoch)
}

// ranges sends packets that are nobody's. In this order: what was given back lies behind the stock.
func (r *restoration) ranges(step string, packets rain.Numbers) error {
	for _, part := range packets {
		if err := r.count(part); err != nil {
			return err
		}
		if err := r.send(step, 1, rain.Numbers{part}.String()); err != nil {
			return err
		}
	}
	return r.flush(step)
}

// count makes sure that none of the packets has come before.
func (r *restoration) count(packets rain.Range) error {
	if packets.First < 0 || packets.Last >= r.c.Packets || packets.Count() < 1 {
		return fmt.Errorf("%w: packets %d to %d", errRestoration, packets.First, packets.Last)
	}
	for p := packets.First; p <= packets.Last; p++ {
		if r.there[p/64]&(1<<(p%64)) != 0 {
			return fmt.Errorf("%w: packet %d is there twice", errRestoration, p)
		}
		r.there[p/64] |= 1 << (p % 64)
	}
	return nil
}

// win takes one win along.
func (r *restoration) win(w rain.Win, entry rain.EntryRef) error {
	packet := strconv.Itoa(w.Packet)
	if _, err := winOf(packet, w.Drop, w.User); err != nil || !isEntryID(entry.ID) {
		return fmt.Errorf("win of packet %d, entry %s: %w", w.Packet, entry.ID, errRecord) // what nobody could read
	}
	if err := r.count(rain.Range{First: w.Packet, Last: w.Packet}); err != nil {
		return err
	}
	r.wins++
	return r.send("wins", 4, w.User, w.Drop, packet, entry.ID)
}

// send puts something in the chunk, each part in so many arguments, and sends the chunk when it has enough of them.
func (r *restoration) send(step string, args int, part ...any) error {
	r.batch = append(r.batch, part...)
	if len(r.batch) < restoredAtOnce*args {
		return nil
	}
	return r.flush(step)
}

// flush sends the chunk, if there is anything in it.
func (r *restoration) flush(step string) error {
	if len(r.batch) == 0 {
		return nil
	}
	r.chunk++
	err := r.step(step, append([]any{r.chunk}, r.batch...)...)
	r.batch = r.batch[:0]
	return err
}
