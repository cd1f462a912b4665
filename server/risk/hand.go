package risk

import (
	"sync"

	"redrain/rain"
)

// Who is a player as the gateway knows them.
type Who struct {
	User    string
	Address string // as limits count it
	Session string // of the issuer, that the token was made in; "": the token does not say
	Issued  int64  // when the token was made, Unix ms; 0: it does not say
}

// Hand is how one player of this node taps: a few sums, so that a tap costs no memory. The methods may be called from
// any goroutine, and those of no Hand do nothing.
type Hand struct {
	who   Who
	since int64 // when the player was first seen here, Unix ms
	watch *Watch
	next  *Hand // in the list of those that have changed

	mu      sync.Mutex
	queued  bool // in that list
	several bool // the player is, or was, on other nodes as well
	sums    sums
	last    int64 // the tap before, Unix ms
	wins    int
	rain    int64  // when the rain of the last tap began, Unix ms
	in      string // the campaign of that tap

	// The watch's, under its lock.
	winner, inSession bool
	beat              int          // among those with the same rhythm; 0: with nobody
	toldOf            [kinds]int64 // when the other nodes were told of what it has, Unix ms; 0: not yet
	told              Judgement
}

// pause is a time between two taps after which the next one begins a new rhythm, in milliseconds.
const pause = 2_000

// Tap notes a tap on a drop of a campaign, at the cluster's time.
func (h *Hand) Tap(c *rain.Campaign, drop rain.DropID, now int64) {
	if h == nil || c == nil {
		return
	}
	r := c.Current()
	if r == nil || now < r.StartsAt || now >= r.TapsUntil() {
		return
	}
	opened := r.WaveAt(drop.N)
	near := r.Has(drop.N) && now >= opened
	if near && now >= opened+r.FallMS+rain.GraceMS || drop.N < r.FirstWave {
		return // late, which says nothing of a hand
	}
	h.mu.Lock()
	h.rain, h.in = r.StartsAt, c.ID
	if near {
		h.near(now, now-opened)
	} else {
		h.sums.Astray++
	}
	h.mu.Unlock()
	h.queue()
}

// queue has the hand looked at with the next look.
func (h *Hand) queue() {
	h.mu.Lock()
	queue := !h.queued
	h.queued = true
	h.mu.Unlock()
	if queue {
		h.watch.changed(h)
	}
}

// near needs the lock.
func (h *Hand) near(now, took int64) {
	h.sums.Taps.add(float64(took))
	if took < int64(h.watch.limits.FastMS) {
		h.sums.Fast++
	}
	if gap := now - h.last; h.last > 0 && gap < pause {
		h.sums.Gaps.add(float64(gap))
	}
	h.last = now
	h.sums.fade()
}

// Won notes that a tap has won.
func (h *Hand) Won() {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.wins++
	h.mu.Unlock()
	h.queue()
}

// campaign is where the player has tapped last.
func (h *Hand) campaign() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.in
}

// among notes on how many nodes the player is.
func (h *Hand) among(nodes int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.several = h.several || nodes > 1
}

// look takes the hand out of the list of those that have changed, and tells what is known of it.
func (h *Hand) look() looked {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queued = false
	return looked{hand: h, sums: h.sums, won: h.wins > 0, several: h.several,
		young: h.rain > 0 && h.since >= h.rain-announced && (h.who.Issued == 0 || h.who.Issued >= h.rain-announced)}
}

// announced is how long before a rain it is worth making accounts for it, in milliseconds.
const announced = 60_000
