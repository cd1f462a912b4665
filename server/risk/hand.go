package risk

import (
	"math"
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

// remembered is how many taps a hand remembers well: with twice as many, all it knows counts half. So who plays by
// hand first and by program then is judged by the program soon.
const remembered = 32

// Hand is how one player of this node taps: a few sums, so that a tap costs no memory. The methods may be called from
// any goroutine, and those of no Hand do nothing.
type Hand struct {
	who   Who
	since int64 // when the player was first seen here, Unix ms
	watch *Watch
	next  *Hand // in the list of those that have changed

	mu     sync.Mutex
	queued bool // in that list
	taps   moments
	gaps   moments
	fast   float64
	astray float64
	last   int64 // the tap before, Unix ms
	wins   int
	rain   int64  // when the rain of the last tap began, Unix ms
	in     string // the campaign of that tap

	// The watch's, under its lock.
	winner, inSession bool
	beat              int // among those with the same rhythm; 0: with nobody
	told              Judgement
}

// moments are count, sum and sum of squares.
type moments struct{ n, sum, squares float64 }

func (m *moments) add(x float64) {
	m.n++
	m.sum += x
	m.squares += x * x
}

func (m *moments) halve() { m.n, m.sum, m.squares = m.n/2, m.sum/2, m.squares/2 }

func (m *moments) mean() float64 { return m.sum / max(m.n, 1) }

func (m *moments) deviation() float64 {
	return math.Sqrt(max(m.squares/max(m.n, 1)-m.mean()*m.mean(), 0))
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
		h.astray++
	}
	queue := !h.queued
	h.queued = true
	h.mu.Unlock()
	if queue {
		h.watch.changed(h)
	}
}

// near needs the lock.
func (h *Hand) near(now, took int64) {
	h.taps.add(float64(took))
	if took < int64(h.watch.limits.FastMS) {
		h.fast++
	}
	if gap := now - h.last; h.last > 0 && gap < pause {
		h.gaps.add(float64(gap))
	}
	h.last = now
	if h.taps.n+h.astray >= 2*remembered {
		h.taps.halve()
		h.gaps.halve()
		h.fast, h.astray = h.fast/2, h.astray/2
	}
}

// Won notes that a tap has won.
func (h *Hand) Won() {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.wins++
	queue := !h.queued
	h.queued = true
	h.mu.Unlock()
	if queue {
		h.watch.changed(h)
	}
}

// campaign is where the player has tapped last.
func (h *Hand) campaign() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.in
}

// signals are what is known of the player alone, and whether they have won.
func (h *Hand) signals() (s Signals, won bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queued = false
	s = Signals{
		Taps: int(h.taps.n), Fast: int(h.fast), Mean: h.taps.mean(), Spread: h.taps.deviation(),
		Gaps: int(h.gaps.n), GapSplay: h.gaps.deviation(), Astray: int(h.astray),
		Young: h.rain > 0 && h.since >= h.rain-announced && (h.who.Issued == 0 || h.who.Issued >= h.rain-announced),
	}
	return s, h.wins > 0
}

// announced is how long before a rain it is worth making accounts for it, in milliseconds.
const announced = 60_000
