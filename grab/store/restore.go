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

// restoredAtOnce is the number of ranges or wins in one call to Redis.
const restoredAtOnce = 500

// errRestoration means that a restoration is inconsistent.
var errRestoration = errors.New("the packets to restore do not add up")

// Restoration is the state of a shard to be restored in Redis.
type Restoration struct {
	// Barrier is an outbox id, "<ms>-<seq>". Every entry from before the loss has an id up to this one; every later
	// entry will have a higher one.
	Barrier string
	// Epoch is the time of the fence before the restoration, Unix ms.
	Epoch int64
	// Claim is the shard's epoch in the stream, as Claims has it; "" without --confirm stream.
	Claim string
	// Closed means that the shard's rest went back to the sponsor: there is no stock any more.
	Closed bool
	// Stock holds the packets that can be won, and Reclaimed those that went back to the sponsor.
	Stock, Reclaimed rain.Numbers
	// Borrowed are the moves that have brought stock to this shard. Moves is the highest known number of a move from
	// or to it.
	Borrowed []string
	Moves    int64
	// Wins calls put with every known win and its outbox entry, in the order won. Only the entry's ID counts. Wins
	// returns put's error, or its own. May be nil if there are no wins.
	Wins func(put func(w rain.Win, entry rain.EntryRef) error) error
	// Top are the players who have won most.
	Top []Ranked
}

// Restorer restores the state that Redis has lost.
type Restorer struct{ *client }

// NewRestorer returns a Restorer.
func NewRestorer(s *Store) *Restorer { return &Restorer{s.client} }

// Lost lists the shards of the campaign that are missing in Redis, or whose restoration was broken off. Only a loss
// removes a shard once it was opened; for a loading campaign the answer means nothing. If Redis does not answer for
// some shards there is an error too, and the answer is of the others.
func (r *Restorer) Lost(ctx context.Context, c *rain.Campaign) (lost []int, err error) {
	// Each command has its own error.
	revisions, _ := ofShards(ctx, r.client, c, func(p redis.Pipeliner, k Keys) *redis.BoolCmd {
		return p.HExists(ctx, k.State, fieldRevision)
	})
	var failed error
	for shard, known := range revisions {
		switch there, err := known.Result(); {
		case err != nil:
			failed = err
		case !there:
			lost = append(lost, shard)
		}
	}
	return lost, wrap(failed, "find lost shards of campaign %s", c.ID)
}

// RestoreAs restores a shard's lost state in Redis. The shard has no rain and takes no taps until Apply brings the
// campaign's version. It may be interrupted at any point without harm, and be repeated. If two run at the same time,
// the one that began last wins. The other one fails with ErrSuperseded, or with ErrAlive if it comes too late.
//
// accepted is called once Redis has accepted this restoration: then no earlier restoration can be finished any more.
// So accepted must set the barrier for other readers too: the last one set is then always that of the shard.
//
// It fails with ErrAlive if the shard is there. It fails with ErrUnsettled if Redis has lost the state and kept an
// outbox that is not empty. A packet that appears twice, in the stock or won, is an error, and nothing is restored.
// Losing taps are not restored. The pacing of a falling rain begins anew with the restored stock.
func (r *Restorer) RestoreAs(ctx context.Context, c *rain.Campaign, shard int,
	accepted func(context.Context) (Restoration, error)) error {
	k, token := r.keys.shard(c.ID, shard), rand.Text()
	run := &restoration{c: c, there: make([]uint64, c.Packets/64+1)}
	run.step = func(step string, args ...any) error {
		return r.run(ctx, "restore", k.opening(), append([]any{token, step}, args...)...).Err()
	}
	run.rank = func(top []Ranked) error {
		if err := r.Checked(r.rdb.Unlink(ctx, k.Top).Err()); err != nil {
			return err
		}
		return (&Ranking{r.client}).Rank(ctx, []Winners{{Campaign: c.ID, Shard: shard, Totals: top}})
	}
	err := run.restore(func() (Restoration, error) { return accepted(ctx) })
	return wrap(err, "restore %s.%d", c.ID, shard)
}

// restoration is one restoration in flight.
type restoration struct {
	c    *rain.Campaign
	step func(step string, args ...any) error // calls the script
	rank func(top []Ranked) error             // writes the board of the top players

	there []uint64 // a bit for each packet of the campaign that was sent
	chunk int      // number of the last one
	batch []any    // what goes with the next one
	wins  int
}

func (r *restoration) restore(accepted func() (Restoration, error)) error {
	if err := r.step("begin", openingFields(r.c)...); err != nil {
		return err
	}
	what, err := accepted()
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
	// Other nodes may have seen moves that are not known here. Each epoch counts its moves from its own time on, so a
	// number that a node has seen in an earlier epoch is always lower.
	moves := max(what.Moves, what.Epoch)
	return r.step("finish", string(status), what.Stock.Count(), r.wins, what.Barrier, moves, what.Epoch, what.Claim)
}

// ranges sends packets without a winner. In this order: returned packets lie behind the stock.
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

// count fails if one of the packets was sent before.
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

// win sends one win.
func (r *restoration) win(w rain.Win, entry rain.EntryRef) error {
	packet := strconv.Itoa(w.Packet)
	if _, err := winOf(packet, w.Drop, w.User); err != nil || !isEntryID(entry.ID) {
		return fmt.Errorf("win of packet %d, entry %s: %w", w.Packet, entry.ID, rain.ErrUnreadable)
	}
	if err := r.count(rain.Range{First: w.Packet, Last: w.Packet}); err != nil {
		return err
	}
	r.wins++
	return r.send("wins", 4, w.User, w.Drop, packet, entry.ID)
}

// send adds one part to the chunk, each part in a number of arguments, and sends a full chunk.
func (r *restoration) send(step string, args int, part ...any) error {
	r.batch = append(r.batch, part...)
	if len(r.batch) < restoredAtOnce*args {
		return nil
	}
	return r.flush(step)
}

// flush sends the chunk if it is not empty.
func (r *restoration) flush(step string) error {
	if len(r.batch) == 0 {
		return nil
	}
	r.chunk++
	err := r.step(step, append([]any{r.chunk}, r.batch...)...)
	r.batch = r.batch[:0]
	return err
}
