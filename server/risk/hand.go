package risk

import (
	"sync"

	"redrain/rain"
)

// Hand is the tap profile of a player of this node: a few sums, so that a tap costs no memory. Its methods are safe for
// concurrent use, and do nothing on a nil Hand.
type Hand struct {
	who   Caller // without a campaign
	since int64  // when the player was first seen here, Unix ms
	watch *Watch
	next  *Hand // in the list of changed hands

	mu      sync.Mutex
	queued  bool // in that list
	several bool // the player is, or was, on other nodes too
	sums    sums
	last    int64 // the tap before, Unix ms
	wins    int
	rain    int64  // when the rain of the last tap began, Unix ms
	in      string // the campaign of that tap

	// guarded by the watch's lock
	winner, inSession bool
	beat              int                    // the steady rhythm that the hand counts for; 0: none
	toldOf            [len(traitKinds)]int64 // see toldAt
	told              Judgement
}

// pause is the gap between two taps after which a new rhythm begins, in milliseconds.
const pause = 2_000

// Tap records a tap on a drop of a campaign, at the cluster's time.
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
		return // late taps do not characterize a hand
	}
	h.mu.Lock()
	h.rain, h.in = r.StartsAt, c.ID
	if near {
		took := now - opened
		h.sums.Taps.add(float64(took))
		if took < int64(h.watch.limits.FastMS) {
			h.sums.Fast++
		}
		if gap := now - h.last; h.last > 0 && gap < pause {
			h.sums.Gaps.add(float64(gap))
		}
		h.last = now
		h.sums.fade()
	} else {
		h.sums.Astray++
	}
	h.mu.Unlock()
	h.queue()
}

// queue adds the hand to the next look.
func (h *Hand) queue() {
	h.mu.Lock()
	queue := !h.queued
	h.queued = true
	h.mu.Unlock()
	if queue {
		h.watch.changed(h)
	}
}

// Won records that a tap has won.
func (h *Hand) Won() {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.wins++
	h.mu.Unlock()
	h.queue()
}

// look removes the hand from the list of changed ones, and returns its state.
func (h *Hand) look() looked {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queued = false
	return looked{hand: h, sums: h.sums, in: h.in, won: h.wins > 0, several: h.several,
		young: h.rain > 0 && h.since >= h.rain-announced && (h.who.Issued == 0 || h.who.Issued >= h.rain-announced)}
}

// announced is the time before a rain from which new accounts are suspicious, in milliseconds.
const announced = 60_000
