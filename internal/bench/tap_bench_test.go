package bench

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// BenchmarkTap is what a tap costs besides the system's write, read and wait: a result is read and counted, the
// next drop found, the next tap written. It should be far below the 10 µs that those take.
func BenchmarkTap(b *testing.B) {
	clock := func() int64 { return int64(time.Hour) }
	l := &loop{options: &Options{}, clock: clock, views: map[string]*view{"c1": newView()},
		clocks: []offset{{rtt: 1}}, tally: newTally(), now: clock(), tapping: true}
	p := &player{view: l.views["c1"], joined: true, sock: sink{}}
	l.players = []*player{p}
	endless := &wave{n: 7, at: 0, gone: never, drops: slices.Repeat([]prize{{k: 3, fall: 1 << 30}}, 100)}
	answer := func(id int64) []byte {
		return serverFrame([]byte(`{"type":"result","id":` + strconv.FormatInt(id,
			10) + `,"drop":"7.3","outcome":"won","amount":88,"packet":"17","claim":"c1-17"}`))
	}
	first := answer(1)
	b.ReportAllocs()
	for b.Loop() {
		p.tapID, p.next, p.queue = 0, p.next%100, append(p.queue[:0], endless)
		p.pending = p.pending[:0]
		l.told.text, l.told.recs = l.told.text[:0], l.told.recs[:0]
		l.tapClosed(p)
		l.heard(p, first, nil)
	}
	if len(l.tally.faults) > 0 {
		b.Fatal(l.tally.faults)
	}
}

// sink is a socket that takes everything.
type sink struct{}

func (sink) write([]byte) error { return nil }
func (sink) mute() error        { return nil }
func (sink) close() error       { return nil }
