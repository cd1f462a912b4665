package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// restoredAtOnce is how many packets or wins go to Redis in one call. A call holds Redis up for about a millisecond.
const restoredAtOnce = 1_000

// errRestoration is a restoration that does not add up.
var errRestoration = errors.New("the packets to restore do not add up")

// Restoration is all that Redis has to know again of a shard.
type Restoration struct {
	// Barrier is an outbox id, "<ms>-<seq>". Every entry from before the loss has an id up to this one, every later
	// one will have a higher one.
	Barrier string
	// Closed says that the shard's rest went back to the sponsor: there is no stock any more.
	Closed bool
	// Packets and Left are the number of packets in Stock and their amount. They are checked at the end.
	Packets int
	Left    rain.Money
	// Stock is the packets that nobody has won, in the order of their numbers. May be nil where there are none.
	Stock iter.Seq2[int, rain.Money]
	// Wins calls put with every win that is known and its outbox entry, of which only the ID counts, in the order
	// of the packets. It ends with put's error, or its own. May be nil where there are none.
	Wins func(put func(w rain.Win, entry rain.EntryRef) error) error
}

// Restorer tells Redis again what it has lost.
type Restorer struct{ *client }

// NewRestorer makes a Restorer.
func NewRestorer(s *Store) *Restorer { return &Restorer{s.client} }

// Lost lists the shards of the campaign of which Redis knows nothing, or whose restoration was broken off. What has
// once been opened is missing only after a loss; for a campaign that is loading the answer means nothing.
func (r *Restorer) Lost(ctx context.Context, c *rain.Campaign) ([]int, error) {
	revisions := make([]*redis.BoolCmd, Shards(c))
	_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for shard := range revisions {
			revisions[shard] = p.HExists(ctx, r.keys.shard(c.ID, shard).State, fieldRevision)
		}
		return nil
	})
	if r.checked(err) != nil {
		return nil, fmt.Errorf("looking for lost shards of campaign %s: %w", c.ID, err)
	}
	var lost []int
	for shard, known := range revisions {
		if !known.Val() {
			lost = append(lost, shard)
		}
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
// outbox that is not empty. Packets that are missing, or there twice, are an error, and nothing is restored.
//
// The taps that won nothing are not known any more and do not count against taps_per_user; the pacing of a rain that is
// falling begins anew with what is left.
func (r *Restorer) RestoreAs(ctx context.Context, c *rain.Campaign, shard int,
	say func(context.Context) (Restoration, error)) error {
	k, token := r.keys.shard(c.ID, shard), rand.Text()
	first, n := rain.ShardRange(c.Packets, Shards(c), shard)
	run := &restoration{c: c, first: first, n: n, seen: make([]bool, n)}
	run.step = func(step string, args ...any) error {
		return r.run(ctx, r.scripts.restore, k.grabbing(), append([]any{token, step}, args...)...).Err()
	}
	run.rank = func() error { return (&Ranking{r.client}).rankAll(ctx, c, shard) }
	if err := run.restore(func() (Restoration, error) { return say(ctx) }); err != nil {
		return fmt.Errorf("restoring %s.%d: %w", c.ID, shard, err)
	}
	return nil
}

// restoration is one restoration under way.
type restoration struct {
	c        *rain.Campaign
	step     func(step string, args ...any) error // calls the script
	rank     func() error                         // makes the board of those who have won most, when all wins are there
	first, n int                                  // the shard's packets

	chunk int    // number of the last one
	batch []any  // what goes with the next one
	seen  []bool // the packets that came, from first on
	wins  int
}

func (r *restoration) restore(say func() (Restoration, error)) error {
	if err := r.step("begin", r.first, r.n, r.c.WinsPerUser, r.c.TapsPerUser); err != nil {
		return err
	}
	what, err := say()
	if err != nil {
		return err
	}
	if !isEntryID(what.Barrier) {
		return fmt.Errorf("%q is not the id of an outbox entry", what.Barrier)
	}
	if err := r.stock(what); err != nil {
		return err
	}
	if what.Wins != nil {
		if err := what.Wins(r.win); err != nil {
			return err
		}
	}
	if err := r.flush("wins", 1); err != nil {
		return err
	}
	if !what.Closed && what.Packets+r.wins != r.n {
		return fmt.Errorf("%w: %d in the stock and %d won of %d", errRestoration, what.Packets, r.wins, r.n)
	}
	if err := r.rank(); err != nil {
		return err
	}
	status := rain.Open
	if what.Closed {
		status = rain.Closed
	}
	return r.step("finish", string(status), what.Packets, int64(what.Left), r.wins, what.Barrier, group)
}

// stock sends the packets that can still be won.
func (r *restoration) stock(what Restoration) error {
	packets, left := 0, rain.Money(0)
	if what.Stock != nil {
		for packet, amount := range what.Stock {
			if err := r.once(packet, amount); err != nil {
				return err
			}
			packets, left = packets+1, left+amount
			r.batch = append(r.batch, strconv.Itoa(packet)+":"+strconv.FormatInt(int64(amount), 10))
			if err := r.flush("stock", restoredAtOnce); err != nil {
				return err
			}
		}
	}
	if packets != what.Packets || left != what.Left || (what.Closed && packets > 0) {
		return fmt.Errorf("%w: a stock of %d packets, %d in all; announced were %d, %d", errRestoration, packets, left,
			what.Packets, what.Left)
	}
	return r.flush("stock", 1)
}

// win takes one win along.
func (r *restoration) win(w rain.Win, entry rain.EntryRef) error {
	if err := r.once(w.Packet, w.Amount); err != nil {
		return err
	}
	part := Record{Win: w, Entry: entry.ID}.text()
	if _, err := parseRecords(w.User, part); err != nil {
		return err // what nobody could read
	}
	r.wins++
	r.batch = append(r.batch, w.User, part)
	return r.flush("wins", 2*restoredAtOnce)
}

// once makes sure that a packet is one of the shard's and has not come before.
func (r *restoration) once(packet int, amount rain.Money) error {
	i := packet - r.first
	switch {
	case i < 0 || i >= r.n:
		return fmt.Errorf("%w: packet %d is not one of %d…%d", errRestoration, packet, r.first, r.first+r.n-1)
	case r.seen[i]:
		return fmt.Errorf("%w: packet %d has come twice", errRestoration, packet)
	case amount < 1:
		return fmt.Errorf("%w: packet %d holds %d", errRestoration, packet, amount)
	}
	r.seen[i] = true
	return nil
}

// flush sends the chunk when it has grown to enough.
func (r *restoration) flush(step string, enough int) error {
	if len(r.batch) < enough {
		return nil
	}
	r.chunk++
	err := r.step(step, append([]any{r.chunk}, r.batch...)...)
	r.batch = r.batch[:0]
	return err
}
