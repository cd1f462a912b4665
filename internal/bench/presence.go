package bench

import (
	"math/bits"

	"redrain/rain"
)

// presence is the time that a player sees one rain without interruption: which of its waves should have come, and
// which have. A wave is expected if its moment, when it appears at the top of the screen, is in that time.
type presence struct {
	shower *shower // nil: it does not rain for the player
	first  int64   // the first wave that is expected
}

// waveWindow holds the waves that a player has received: the highest number, and a bit for it and each of the 63
// before it.
type waveWindow struct {
	last   int64
	recent uint64
	count  int64 // since the presence began, of the waves that it expects or that are to come
}

// hear notes a wave, and tells whether it is new to the player.
func (e *waveWindow) hear(n, first int64) bool {
	switch d := n - e.last; {
	case e.recent == 0 || d >= 64:
		e.recent, e.last = 1, n
	case d > 0:
		e.recent, e.last = e.recent<<d|1, n
	case d > -64 && e.recent&(1<<-d) == 0:
		e.recent |= 1 << -d
	default:
		return false
	}
	if n >= first {
		e.count++
	}
	return true
}

// from counts the waves heard of whose number is n or above, as far back as the window reaches.
func (e *waveWindow) from(n int64) int64 {
	switch d := e.last - n; {
	case d < 0 || e.recent == 0:
		return 0
	case d >= 63:
		return int64(bits.OnesCount64(e.recent))
	default:
		return int64(bits.OnesCount64(e.recent & (1<<(d+1) - 1)))
	}
}

// begin opens a presence at a time of the server.
func (p *presence) begin(s *shower, now int64, e *waveWindow) {
	p.shower = s
	if s == nil {
		return
	}
	p.first = s.rain.FirstWave
	if late := now - s.rain.StartsAt; late > 0 {
		p.first += (late + rain.WaveMS - 1) / rain.WaveMS
	}
	e.count = e.from(p.first)
}

// end closes it and tells how many waves were expected and have come.
func (p *presence) end(now int64, e *waveWindow) (expected, received int64) {
	s := p.shower
	if s == nil {
		return 0, 0
	}
	p.shower = nil
	until := min(now, s.ended)
	expected = s.due(p.first, until)
	received = e.count
	next := s.rain.FirstWave // the first wave that is not expected any more
	if d := until - s.rain.StartsAt; d > 0 {
		next += (d + rain.WaveMS - 1) / rain.WaveMS
	}
	received -= e.from(max(next, p.first))
	return expected, received
}
