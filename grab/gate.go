package grab

import (
	"slices"
	"sync"
	"sync/atomic"

	"redrain/rain"
)

// Gate is where the taps on one campaign come in on this node. What can be answered without Redis it answers
// itself; the rest goes to the script through the coalescer of the player's home shard. Its methods may be called
// from any goroutine.
type Gate struct {
	grabber  *Grabber
	campaign string
	shards   []*coalescer

	mu   sync.Mutex // one Update at a time
	view atomic.Pointer[view]
}

// view is what the gate knows at one moment. A view is not changed but replaced, so that a tap is judged by one
// version of the campaign from beginning to end.
type view struct {
	campaign *rain.Campaign
	rain     *rain.Rain // the newest, or nil
	memory   *memory    // of this rain; shared by the views of the same rain
	soldOut  []atomic.Bool
}

// Gate is the campaign's gate, made where there is none. It learns c if that is newer than what it knows.
func (g *Grabber) Gate(c *rain.Campaign) *Gate {
	g.mu.RLock()
	gt := g.gates[c.ID]
	g.mu.RUnlock()
	if gt == nil {
		gt = g.makeGate(c)
	}
	gt.Update(c)
	return gt
}

func (g *Grabber) makeGate(c *rain.Campaign) *Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if gt := g.gates[c.ID]; gt != nil {
		return gt
	}
	gt := &Gate{grabber: g, campaign: c.ID, shards: make([]*coalescer, shardsOf(c))}
	for shard := range gt.shards {
		k := g.keys.shard(c.ID, shard)
		gt.shards[shard] = newCoalescer(&g.work, (&batcher{gate: gt, shard: shard, keys: k.grabbing()}).decide)
	}
	gt.view.Store(&view{campaign: c, rain: c.Current(), memory: newMemory(nil),
		soldOut: make([]atomic.Bool, len(gt.shards))})
	g.gates[c.ID] = gt
	return gt
}

// Drop forgets a campaign's gate and what it remembers. Taps that are under way still get their results.
func (g *Grabber) Drop(campaign string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.gates, campaign)
}

// Update tells the gate a version of its campaign; one that is not newer than what it knows changes nothing. When a
// new rain has been scheduled, what was remembered of the last one is forgotten, except what was won: that counts
// for the whole campaign.
func (gt *Gate) Update(c *rain.Campaign) {
	if gt.view.Load().campaign.Revision >= c.Revision {
		return
	}
	gt.mu.Lock()
	defer gt.mu.Unlock()
	old := gt.view.Load()
	if old.campaign.Revision >= c.Revision {
		return
	}
	v := &view{campaign: c, rain: c.Current(), memory: old.memory, soldOut: old.soldOut}
	if rainID(v.rain) != rainID(old.rain) {
		v.memory, v.soldOut = newMemory(old.memory), make([]atomic.Bool, len(gt.shards))
	}
	gt.view.Store(v)
}

func rainID(r *rain.Rain) string {
	if r == nil {
		return ""
	}
	return r.ID
}

// Remember tells the gate what the player has won in the campaign, so that a tap that won is answered here when it
// is sent again, and so are the taps of one who has all the wins allowed.
func (gt *Gate) Remember(user string, wins []rain.Win) {
	gt.view.Load().memory.rememberWins(user, wins)
}

// SoldOut tells the gate that a shard is sold out, as another node has found. It holds until the next rain.
func (gt *Gate) SoldOut(shard int) {
	if shard >= 0 && shard < len(gt.shards) {
		gt.view.Load().soldOut[shard].Store(true)
	}
}

// Tap decides a tap. Where the gate knows the result it returns it, and true; otherwise the tap's Asker will be
// told, exactly once.
func (gt *Gate) Tap(t *Tap) (r Result, known bool) {
	v := gt.view.Load()
	shard := rain.HomeShard(t.User, len(gt.shards))
	switch result, step := gt.admit(v, shard, t); step {
	case answered:
		return result, true
	case attached: // the tap that is under way answers this one too
		return Result{}, false
	}
	if gt.shards[shard].push(t) {
		return Result{}, false
	}
	t.settle(Result{Outcome: Unavailable})
	(&teller{}).tell([]*Tap{t})
	return Result{}, false
}

// step is what is to be done with a tap.
type step int

const (
	answered step = iota
	attached
	passed
)

// admit answers a tap from what is known here, or marks it as under way.
func (gt *Gate) admit(v *view, shard int, t *Tap) (Result, step) {
	s := v.memory.stripe(t.User)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.players[t.User]
	if p != nil {
		if result, known := p.recall(t.Drop); known {
			return result, answered
		}
		if flying := p.underWay(t.Drop); flying != nil {
			flying.others = append(flying.others, t)
			return Result{}, attached
		}
	}
	now := gt.grabber.o.Clock()
	class := v.rain.Classify(t.Drop, now, v.campaign.Status != rain.Open)
	if outcome, refused := refusals[class]; refused {
		return Result{Outcome: outcome}, answered
	}
	if p == nil {
		p = s.add(t.User)
	}
	switch rate := gt.grabber.o.TapRate; {
	case rate > 0 && !p.bucket.take(now, rate):
		return Result{Outcome: TooFast}, answered
	case class == rain.IsDecoy:
		return Result{Outcome: Empty}, answered
	case p.wins() >= v.campaign.WinsPerUser:
		return Result{Outcome: Already}, answered // as the script would say: every win is known here
	case v.soldOut[shard].Load() && !slices.Contains(p.undecided, t.Drop): // what may be won is asked for again, the last packet too
		return Result{Outcome: SoldOut}, answered
	}
	t.player, t.stripe = p, s
	p.flying = append(p.flying, t)
	return Result{}, passed
}

// refusals are the classes that end a tap without asking the script.
var refusals = map[rain.TapClass]Outcome{
	rain.UnknownDrop: UnknownDrop,
	rain.TooLate:     Late,
	rain.NotOpen:     NotOpen,
}

// noteSoldOut remembers that a shard has nothing left, and says so once.
func (gt *Gate) noteSoldOut(shard int) {
	if gt.view.Load().soldOut[shard].CompareAndSwap(false, true) {
		gt.grabber.o.OnSoldOut(gt.campaign, shard)
	}
}

// Restocked tells the gate that what was found sold out may not be so any more: Redis had lost the stock and has it
// again.
func (gt *Gate) Restocked() {
	sold := gt.view.Load().soldOut
	for shard := range sold {
		sold[shard].Store(false)
	}
}
