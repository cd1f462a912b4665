package grab

import (
	"slices"
	"sync"
	"sync/atomic"

	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/rain"
)

// Gate is where the taps on one campaign come in on this node. What can be answered without Redis it answers
// itself; the rest goes to the script through the coalescer of the player's home shard. Its methods may be called
// from any goroutine.
type Gate[T any] struct {
	campaign string
	o        Options
	shards   []*coalescer[*Tap[T]]

	mu   sync.Mutex // one Update at a time
	view atomic.Pointer[view[T]]
}

// view is what the gate knows at one moment. A view is not changed but replaced, so that a tap is checked against one
// version of the campaign from beginning to end.
type view[T any] struct {
	campaign *rain.Campaign
	rain     *rain.Rain      // the newest, or nil
	players  *playerCache[T] // of this rain; shared by the views of the same rain
	soldOut  []atomic.Bool
}

// newGate makes a gate whose shards are not there yet.
func newGate[T any](c *rain.Campaign, o Options) *Gate[T] {
	g := &Gate[T]{campaign: c.ID, o: o, shards: make([]*coalescer[*Tap[T]], store.Shards(c))}
	g.view.Store(&view[T]{campaign: c, rain: c.Current(), players: newPlayerCache[T](nil),
		soldOut: make([]atomic.Bool, len(g.shards))})
	return g
}

// Update tells the gate a version of its campaign; one that is not newer than what it knows changes nothing. When a
// new rain has been scheduled, what was remembered of the last one is forgotten, except what was won: that counts
// for the whole campaign.
func (g *Gate[T]) Update(c *rain.Campaign) {
	if g.view.Load().campaign.Revision >= c.Revision {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.view.Load()
	if old.campaign.Revision >= c.Revision {
		return
	}
	v := &view[T]{campaign: c, rain: c.Current(), players: old.players, soldOut: old.soldOut}
	if rainID(v.rain) != rainID(old.rain) {
		v.players, v.soldOut = newPlayerCache(old.players), make([]atomic.Bool, len(g.shards))
	}
	g.view.Store(v)
}

func rainID(r *rain.Rain) string {
	if r == nil {
		return ""
	}
	return r.ID
}

// Remember tells the gate what the player has won in the campaign, so that a tap that won is answered here when it
// is sent again, and so are the taps of one who has all the wins allowed.
func (g *Gate[T]) Remember(user string, wins []rain.Win) {
	g.view.Load().players.addWins(user, wins)
}

// SoldOut tells the gate that a shard is sold out, as another node has found. It holds until the next rain.
func (g *Gate[T]) SoldOut(shard int) {
	if shard >= 0 && shard < len(g.shards) {
		g.view.Load().soldOut[shard].Store(true)
	}
}

// Tap decides a tap. Where the gate knows the result it returns it, and true; otherwise the tap's result will come
// through Answer, exactly once.
func (g *Gate[T]) Tap(t *Tap[T]) (r outcome.Result, known bool) {
	v := g.view.Load()
	shard := rain.HomeShard(t.User, len(g.shards))
	s := v.players.stripe(t.User)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.players[t.User]
	if p != nil {
		if r, known = p.recall(t.Drop); known {
			return r, true
		}
		if flying := p.underWay(t.Drop); flying != nil { // it answers this one too
			flying.copies = append(flying.copies, t)
			return outcome.Result{}, false
		}
	}
	now := g.o.Clock()
	class := v.rain.Classify(t.Drop, now, v.campaign.Status != rain.Open)
	if o, refused := refusals[class]; refused {
		return outcome.Result{Outcome: o}, true
	}
	if p == nil {
		p = s.add(t.User)
	}
	switch rate := g.o.TapRate; {
	case rate > 0 && !p.bucket.take(now, rate):
		return outcome.Result{Outcome: outcome.TooFast}, true
	case class == rain.IsDecoy:
		return outcome.Result{Outcome: outcome.Empty}, true
	case p.wins() >= v.campaign.WinsPerUser:
		return outcome.Result{Outcome: outcome.Already}, true // as the script would say: every win is known here
	case v.soldOut[shard].Load() && !slices.Contains(p.undecided, t.Drop):
		// What may be won is asked for again, the last packet too.
		return outcome.Result{Outcome: outcome.SoldOut}, true
	}
	t.player = p
	if !g.shards[shard].push(t) {
		return outcome.Result{Outcome: outcome.Unavailable}, true
	}
	p.flying = append(p.flying, t) // before its result comes, which takes the lock too
	return outcome.Result{}, false
}

// refusals are the classes that end a tap without asking the script.
var refusals = map[rain.TapClass]outcome.Outcome{
	rain.UnknownDrop: outcome.UnknownDrop,
	rain.TooLate:     outcome.Late,
	rain.NotOpen:     outcome.NotOpen,
}

// noteSoldOut remembers that a shard has nothing left, and says so once.
func (g *Gate[T]) noteSoldOut(shard int) {
	if g.view.Load().soldOut[shard].CompareAndSwap(false, true) {
		g.o.OnSoldOut(g.campaign, shard)
	}
}

// Restocked tells the gate that what was found sold out may not be so any more: Redis had lost the stock and has it
// again.
func (g *Gate[T]) Restocked() {
	sold := g.view.Load().soldOut
	for shard := range sold {
		sold[shard].Store(false)
	}
}
