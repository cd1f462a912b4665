package grab

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/rain"
)

// Gate takes the taps on one campaign on this node. It answers as many as it can without Redis. The others go to the
// script through the coalescer of the player's home shard. Its methods are safe for concurrent use.
type Gate[T any] struct {
	*playerCache[T]

	campaign string
	o        Options
	shards   []*shard[T]
	layout   rain.Layout
	soldOut  [rain.LaneCount]atomic.Bool // no stock is left for a lane's players, nor in flight between its shards

	mu   sync.Mutex // one Update at a time
	view atomic.Pointer[view]
}

// view is the gate's copy of its campaign at one moment. A view is not changed but replaced, so that a tap is checked
// against one version of the campaign from beginning to end.
type view struct {
	campaign *rain.Campaign
	rain     *rain.Rain // the newest, or nil
	sky      *rain.Sky  // of that rain
}

func viewOf(c *rain.Campaign) *view {
	r := c.Current()
	return &view{campaign: c, rain: r, sky: rain.NewSky(r)}
}

// next returns the view of a newer version of the campaign. The cached sky is kept if the rain falls as before; new
// odds come once a second.
func (v *view) next(c *rain.Campaign) *view {
	next := viewOf(c)
	if next.rain != nil && v.rain != nil {
		was, is := *v.rain, *next.rain
		if was.OddsRecord, is.OddsRecord = "", ""; was == is {
			next.sky = v.sky
		}
	}
	return next
}

// newGate returns a gate without shards.
func newGate[T any](c *rain.Campaign, o Options) *Gate[T] {
	g := &Gate[T]{playerCache: newPlayerCache[T](), campaign: c.ID, o: o, layout: c.Layout(),
		shards: make([]*shard[T], store.Shards(c))}
	g.view.Store(viewOf(c))
	return g
}

// Update gives the gate a version of its campaign. A version that is not newer changes nothing. A new rain clears the
// sold-out marks: the first tap in it finds out anew. A player's cached results, except wins, are cleared at the
// player's next tap.
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
	next := old.next(c)
	g.view.Store(next)
	if rainID(next.rain) != rainID(old.rain) {
		for lane := range g.soldOut {
			g.soldOut[lane].Store(false)
		}
	}
}

func rainID(r *rain.Rain) string {
	if r == nil {
		return ""
	}
	return r.ID
}

// RememberUnsure gives the gate wins that the player may not be notified of yet. A tap that asks for one again goes
// to the script, even if no stock is left.
func (g *Gate[T]) RememberUnsure(user string, wins []rain.Win) {
	g.addUnsure(user, rainID(g.view.Load().rain), wins)
}

// SoldOut notifies the gate that no stock is left for the players of a lane, nor in flight between its shards.
func (g *Gate[T]) SoldOut(lane rain.Lane) {
	if !g.has(lane) {
		return
	}
	g.soldOut[lane].Store(true)
	g.endShortages(lane)
}

// Restocked notifies the gate that stock has come to a shard.
func (g *Gate[T]) Restocked(shard int) {
	if shard >= 0 && shard < len(g.shards) {
		g.soldOut[g.layout.LaneOfShard(shard)].Store(false)
		g.shards[shard].shortage.signal()
	}
}

// Restored notifies the gate that sold-out lanes may have stock again: Redis had lost the stock and has it again.
func (g *Gate[T]) Restored() {
	for lane := range rain.Lane(g.layout.Lanes()) {
		g.soldOut[lane].Store(false)
		g.endShortages(lane)
	}
}

// InStock notifies the gate that a lane of its campaign had stock. If the gate found it sold out, this node has
// missed a message. If the figure was out of date, the next tap asks the script, and the gate marks the lane again.
func (g *Gate[T]) InStock(lane rain.Lane) {
	if g.has(lane) && g.soldOut[lane].Swap(false) {
		g.endShortages(lane)
	}
}

// has reports whether the campaign has a lane. Messages of other nodes may be wrong.
func (g *Gate[T]) has(lane rain.Lane) bool { return lane >= 0 && int(lane) < g.layout.Lanes() }

// endShortages lets the waiting taps of a lane try again.
func (g *Gate[T]) endShortages(lane rain.Lane) {
	shards, _ := g.layout.Part(lane)
	for _, s := range g.shards[shards.First : shards.Last+1] {
		s.shortage.signal()
	}
}

// Tap decides a tap. If the gate knows the result it returns it, and true. Otherwise the tap's result will come
// through Answer, exactly once.
func (g *Gate[T]) Tap(t *Tap[T]) (r outcome.Result, known bool) {
	v := g.view.Load()
	s := g.stripe(t.User)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := g.o.Clock()
	p := s.players[t.User]
	t.ticket = v.rain.TicketOf(t.Drop)
	if p != nil {
		p.onIdle = nil
		p.startRain(rainID(v.rain))
		if r, known = p.recall(t.Drop, t.ticket); known {
			p.mayTap(now, g.o.TapRate, t.Nodes) // it uses up the rate, and gets its known result even above the rate
			return r, true
		}
		if flying := p.inFlight(t.Drop); flying != nil { // it answers this one too
			if !p.mayTap(now, g.o.TapRate, t.Nodes) || len(flying.copies) >= mostCopies {
				return outcome.Result{Outcome: outcome.TooFast}, true
			}
			flying.copies = append(flying.copies, t)
			return outcome.Result{}, false
		}
	}
	class := v.sky.Classify(t.Drop, now, v.campaign.Status != rain.Open)
	if o, refused := refusals[class]; refused {
		return outcome.Result{Outcome: o}, true
	}
	if p == nil {
		p = s.add(t.User)
		p.startRain(rainID(v.rain))
	}
	switch {
	case !p.mayTap(now, g.o.TapRate, t.Nodes):
		return outcome.Result{Outcome: outcome.TooFast}, true
	case class == rain.IsDecoy:
		return outcome.Result{Outcome: outcome.Empty}, true
	}
	if t.ticket.IsBeat() && !p.draws.tookAnother(t.ticket, t.Drop) {
		if r, known = p.recallWin(t.ticket); known { // with another drop, or on another node
			return r, true
		}
	}
	switch {
	case len(p.won) >= v.campaign.WinsPerUser:
		return outcome.Result{Outcome: outcome.Already}, true // as the script would answer: every win is cached here
	case g.soldOut[g.layout.Lane(t.User)].Load() && !slices.Contains(p.undecided, t.ticket):
		// A tap with an undecided ticket goes to the script all the same: it may have won the last packet.
		return outcome.Result{Outcome: outcome.SoldOut}, true
	case !v.rain.Lucky(t.User, t.ticket), p.draws.tookAnother(t.ticket, t.Drop):
		r = outcome.Result{Outcome: outcome.Empty}
		p.remember(t.Drop.Ticket(), r)
		return r, true
	}
	t.came, t.player = now, p
	if why, ok := t.mayWin(); !ok {
		return outcome.Result{Outcome: why}, true
	}
	p.draws.take(t.ticket, t.Drop)
	return g.send(p, t)
}

// send sends a tap to the script. If another tap of the player is in flight, it queues this one behind that.
func (g *Gate[T]) send(p *cachedPlayer[T], t *Tap[T]) (r outcome.Result, known bool) {
	if len(p.undecidedTaps) > 0 {
		t.waits = time.Now() // the wait for stock counts from now: queued taps of a player share one wait
	} else if !g.shards[g.layout.Home(t.User)].push(t) {
		p.draws.release(t.ticket)
		t.settle(outcome.Result{})
		return outcome.Result{Outcome: outcome.Unavailable}, true
	}
	p.undecidedTaps = append(p.undecidedTaps, t) // before its result arrives, which takes the lock too
	return outcome.Result{}, false
}

// refusals are the classes that end a tap without asking the script.
var refusals = map[rain.TapClass]outcome.Outcome{
	rain.UnknownDrop: outcome.UnknownDrop,
	rain.TooLate:     outcome.Late,
	rain.NotOpen:     outcome.NotOpen,
}
