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

// Gate is where the taps on one campaign come in on this node. What can be answered without Redis it answers
// itself; the rest goes to the script through the coalescer of the player's home shard. Its methods may be called
// from any goroutine.
type Gate[T any] struct {
	campaign string
	o        Options
	shards   []*shard[T]
	players  *playerCache[T]
	layout   rain.Layout
	soldOut  [rain.LaneCount]atomic.Bool // nothing is left for a lane's players, nor on its way between shards

	mu   sync.Mutex // one Update at a time
	view atomic.Pointer[view]
}

// shard is the way of one shard's taps.
type shard[T any] struct {
	*coalescer[*Tap[T]]
	drought *drought[T]
}

// view is what the gate knows of its campaign at one moment. A view is not changed but replaced, so that a tap is
// checked against one version of the campaign from beginning to end.
type view struct {
	campaign *rain.Campaign
	rain     *rain.Rain // the newest, or nil
	sky      *rain.Sky  // of that rain
}

func viewOf(c *rain.Campaign) *view {
	r := c.Current()
	return &view{campaign: c, rain: r, sky: rain.NewSky(r)}
}

// next is the view of a newer version of the campaign. What is remembered of the sky stays where the rain falls as it
// did; new odds come once a second.
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

// newGate makes a gate whose shards are not there yet.
func newGate[T any](c *rain.Campaign, o Options) *Gate[T] {
	g := &Gate[T]{campaign: c.ID, o: o, layout: c.Layout(), shards: make([]*shard[T], store.Shards(c)),
		players: newPlayerCache[T]()}
	g.view.Store(viewOf(c))
	return g
}

// Update tells the gate a version of its campaign; one that is not newer than what it knows changes nothing. When a
// new rain has been scheduled, what was remembered of the last one is forgotten, except what was won: that counts
// for the whole campaign. That it is sold out is forgotten too: who taps in the new rain finds out anew.
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

// Remember tells the gate what the player has won in the campaign, so that a tap that won is answered here when it
// is sent again, and so are the taps of one who has all the wins allowed.
func (g *Gate[T]) Remember(user string, wins []rain.Win) { g.players.addWins(user, wins) }

// Settled tells the gate of a win that is in the ledger, of a player who is on this node. It tells whether that is
// news: a settlement may be heard of more than once, and the player is to be told once.
func (g *Gate[T]) Settled(user string, win rain.Win) (news bool) { return g.players.settle(user, win) }

// RememberUnsure tells the gate of wins that the player may not be told yet: a tap that asks for one again is asked of
// the script, also where nothing is left.
func (g *Gate[T]) RememberUnsure(user string, wins []rain.Win) {
	g.players.addUnsure(user, rainID(g.view.Load().rain), wins)
}

// Forget drops what is known of a player who is not on this node any more.
func (g *Gate[T]) Forget(user string) { g.players.forget(user) }

// SoldOut tells the gate that nothing is left for the players of a lane, nor on its way between their shards.
func (g *Gate[T]) SoldOut(lane rain.Lane) {
	if !g.has(lane) {
		return
	}
	g.soldOut[lane].Store(true)
	g.endDroughts(lane)
}

// Restocked tells the gate that stock has come to a shard.
func (g *Gate[T]) Restocked(shard int) {
	if shard >= 0 && shard < len(g.shards) {
		g.soldOut[g.layout.LaneOfShard(shard)].Store(false)
		g.shards[shard].drought.end()
	}
}

// Restored tells the gate that what was found sold out may not be so any more: Redis had lost the stock and has it
// again.
func (g *Gate[T]) Restored() {
	for lane := range rain.Lane(g.layout.Lanes()) {
		g.mayHave(lane)
	}
}

// InStock tells the gate that a lane of its campaign has been seen to have stock. Where it was found sold out that is
// not so any more, and this node has not heard of it. A figure that is older than the last win does no harm: the next
// tap finds the lane sold out again.
func (g *Gate[T]) InStock(lane rain.Lane) {
	if g.has(lane) && g.soldOut[lane].Load() {
		g.mayHave(lane)
	}
}

// has tells whether the campaign has a lane. What other nodes say is not believed.
func (g *Gate[T]) has(lane rain.Lane) bool { return lane >= 0 && int(lane) < g.layout.Lanes() }

// mayHave forgets that nothing is left for a lane.
func (g *Gate[T]) mayHave(lane rain.Lane) {
	g.soldOut[lane].Store(false)
	g.endDroughts(lane)
}

// endDroughts tells the taps that wait in a lane that there is news.
func (g *Gate[T]) endDroughts(lane rain.Lane) {
	shards, _ := g.layout.Part(lane)
	for _, s := range g.shards[shards.First : shards.Last+1] {
		s.drought.end()
	}
}

// Tap decides a tap. Where the gate knows the result it returns it, and true; otherwise the tap's result will come
// through Answer, exactly once.
func (g *Gate[T]) Tap(t *Tap[T]) (r outcome.Result, known bool) {
	v := g.view.Load()
	s := g.players.stripe(t.User)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := g.o.Clock()
	p := s.players[t.User]
	t.ticket = v.rain.TicketOf(t.Drop)
	if p != nil {
		p.gone = nil
		p.enter(rainID(v.rain))
		if r, known = p.recall(t.Drop, t.ticket); known {
			p.mayTap(now, g.o.TapRate, t.Nodes) // a copy costs what any tap does, and its answer stays what it was
			return r, true
		}
		if flying := p.underWay(t.Drop); flying != nil { // it answers this one too
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
		p.enter(rainID(v.rain))
	}
	switch {
	case !p.mayTap(now, g.o.TapRate, t.Nodes):
		return outcome.Result{Outcome: outcome.TooFast}, true
	case class == rain.IsDecoy:
		return outcome.Result{Outcome: outcome.Empty}, true
	}
	if t.ticket.IsBeat() && !p.draws.tookAnother(t.ticket, t.Drop) {
		if r, known = p.recallWin(t.ticket); known { // whichever drop it was won with, on another node
			return r, true
		}
	}
	switch {
	case p.wins() >= v.campaign.WinsPerUser:
		return outcome.Result{Outcome: outcome.Already}, true // as the script would say: every win is known here
	case g.soldOut[g.layout.Lane(t.User)].Load() && !slices.Contains(p.undecided, t.ticket):
		// What may be won is asked for again, the last packet too.
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

// send puts a tap on its way to the script, or behind the player's other one that is with it.
func (g *Gate[T]) send(p *cachedPlayer[T], t *Tap[T]) (r outcome.Result, known bool) {
	if len(p.flying) > 0 {
		t.waits = time.Now() // a drought is not waited for by one tap after the other
	} else if !g.shards[g.layout.Home(t.User)].push(t) {
		p.draws.giveBack(t.ticket)
		t.settle(outcome.Result{})
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
