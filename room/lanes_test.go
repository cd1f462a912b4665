package room

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
)

func (l *lanes) empty() bool { return l[Results].n == 0 && l[Rain].n == 0 }

// laneModel is a model of lanes, in the plainest way.
type laneModel struct {
	lanes
	want   [laneCount][][]byte
	number int
}

func (s *laneModel) push(t *rapid.T) {
	lane := rapid.SampledFrom([]Lane{Results, Rain}).Draw(t, "lane")
	size := rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(joinMax/3, joinMax+10)).Draw(t, "size")
	s.number++
	name := strconv.Itoa(s.number)
	data := []byte(name + strings.Repeat(".", size))
	s.lanes[lane].push(frame{bytes: data})
	s.want[lane] = append(s.want[lane], data)
}

func (s *laneModel) dropOldest(t *rapid.T) {
	lane := rapid.SampledFrom([]Lane{Results, Rain}).Draw(t, "lane")
	if len(s.want[lane]) == 0 {
		t.Skip("nothing to drop")
	}
	if got := s.lanes[lane].pop(); !same(got.bytes, s.want[lane][0]) {
		t.Fatalf("dropped %.9q, the oldest is %.9q", got.bytes, s.want[lane][0])
	}
	s.want[lane] = s.want[lane][1:]
}

func (s *laneModel) take(t *rapid.T) {
	waiting := slices.Concat(s.want[Results], s.want[Rain])
	got := s.lanes.take(nil)
	if len(waiting) > 0 && len(got) == 0 {
		t.Fatal("took nothing although something waits")
	}
	size := -1
	for i, f := range got {
		if !same(f.bytes, waiting[i]) {
			t.Fatalf("message %d of the frame is %.9q, want %.9q", i, f.bytes, waiting[i])
		}
		size += len(f.bytes) + 1
	}
	if len(got) > 1 && size > joinMax {
		t.Fatalf("%d messages were joined in %d bytes, more than %d", len(got), size, joinMax)
	}
	if len(got) < len(waiting) && size+1+len(waiting[len(got)]) <= joinMax {
		t.Fatalf("stopped at %d messages and %d bytes although the next one fits", len(got), size)
	}
	results := min(len(got), len(s.want[Results]))
	s.want[Results] = s.want[Results][results:]
	s.want[Rain] = s.want[Rain][len(got)-results:]
}

func (s *laneModel) check(t *rapid.T) {
	if s.lanes.empty() != (len(s.want[Results])+len(s.want[Rain]) == 0) {
		t.Fatalf("empty is %v with %d results and %d of the rain waiting", s.lanes.empty(), len(s.want[Results]),
			len(s.want[Rain]))
	}
	for lane := range s.lanes {
		q, held := &s.lanes[lane], 0
		for _, f := range q.ring {
			if f.bytes != nil {
				held++
			}
		}
		if len(q.ring) != 1 && q.one[0].bytes != nil {
			t.Fatal("a message is kept alive in a ring that is not used any more")
		}
		if q.n != len(s.want[lane]) || held != q.n {
			t.Fatalf("lane %d says %d and holds %d frames, want %d", lane, q.n, held, len(s.want[lane]))
		}
		if q.n == 0 && len(q.ring) > keptRing {
			t.Fatalf("an empty lane keeps room for %d frames", len(q.ring))
		}
	}
}

func lanesBehave(t *rapid.T) {
	s := &laneModel{}
	t.Repeat(map[string]func(*rapid.T){"push": s.push, "drop": s.dropOldest, "take": s.take, "": s.check})
}

func TestLanesKeepOrderAndBounds(t *testing.T) { rapid.Check(t, lanesBehave) }

func FuzzLanes(f *testing.F) { f.Fuzz(rapid.MakeFuzz(lanesBehave)) }

// same reports whether two messages share their memory. Neither may be empty.
func same(a, b []byte) bool { return &a[0] == &b[0] && len(a) == len(b) }

// Bundled messages come in order, also between bundles and single messages. They are joined if possible.
func TestBundlesArriveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		const players, rounds = 2 * handoverSize, 5
		members, peers := make([]*Member, players), make([]*peer, players)
		for i := range members {
			members[i], peers[i] = seatPeer(t, l, nil)
			peers[i].reads()
		}
		var want []string
		var b Bundle
		for round := range rounds {
			for n := range 3 {
				for i, m := range members {
					b.Add(m, fmt.Appendf(nil, "%d of round %d for %d", n, round, i))
				}
				want = append(want, fmt.Sprintf("%d of round %d for ", n, round))
			}
			if l.Deliver(&b); len(b.parcels) != 0 {
				t.Fatalf("%d parcels are left in a delivered bundle", len(b.parcels))
			}
			for i, m := range members {
				m.Send(fmt.Appendf(nil, "after round %d for %d", round, i))
			}
			want = append(want, fmt.Sprintf("after round %d for ", round))
			if round%2 == 0 {
				synctest.Wait() // now and then the lanes run empty
			}
		}
		synctest.Wait()
		for i, p := range peers {
			mine := make([]string, len(want))
			for n := range want {
				mine[n] = fmt.Sprint(want[n], i)
			}
			if got := p.got(); !slices.Equal(got, mine) {
				t.Fatalf("member %d got %q, want %q", i, got, mine)
			}
		}
	})
}

// A member gets no message of a bundle before its delivery. A delivery to a closed member does no harm.
func TestBundleWaitsForItsDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m, p := seatPeer(t, l, nil)
		closed, other := seatPeer(t, l, nil)
		p.reads()
		other.reads()
		var b Bundle
		b.Add(closed, []byte("too late"))
		b.Add(m, []byte("in the bundle"))
		m.Send([]byte("before"))
		closed.Close(CodeUnavailable, "")
		synctest.Wait()
		testenv.Equal(t, p.got(), []string{"before"}, "before the delivery came")
		l.Deliver(&b)
		synctest.Wait()
		testenv.Equal(t, p.got(), []string{"before", "in the bundle"}, "frames")
		testenv.Equal(t, len(other.got()), 0, "a closed member")
	})
}

// A bundle keeps neither its messages nor, after a rush, its room.
func TestDeliveredBundleKeepsLittle(t *testing.T) {
	l := running(t)
	m := l.newMember(idleConn{}, nil)
	for _, test := range []struct {
		parcels int
		keeps   bool
	}{{500, true}, {keptParcels + 1, false}} {
		var b Bundle
		for range test.parcels {
			b.Add(m, wave)
		}
		l.Deliver(&b)
		testenv.Equal(t, cap(b.parcels) > 0, test.keeps, "after %d parcels a bundle keeps room for", test.parcels)
		for _, left := range b.parcels[:cap(b.parcels)] {
			if left.to != nil || left.payload != nil {
				t.Fatal("a delivered message is kept alive")
			}
		}
	}
}

// Served messages are released, and so is their memory after a rush.

func TestAClosingMemberKeepsNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m, _ := seatPeer(t, l, nil) // reads nothing
		m.Send([]byte("its write blocks"))
		synctest.Wait()
		m.Send([]byte("queued"))
		m.Close(CodeShutdown, "")
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.lanes.empty() {
			t.Error("messages that will never be written are kept")
		}
	})
}

func TestARestingWorkerKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := running(t)
		m := l.newMember(idleConn{}, nil)
		m.Send(make([]byte, 4*keptBuffer))
		m.Send([]byte("and one more, so that they are joined"))
		synctest.Wait()
		for _, w := range l.workers.resting {
			if w.member != nil {
				t.Error("a resting worker keeps a member alive")
			}
			for _, f := range w.batch.frames[:cap(w.batch.frames)] {
				if f.bytes != nil {
					t.Error("a resting worker keeps a message alive")
				}
			}
		}
	})
	b := &batch{frames: []frame{{bytes: make([]byte, 4*keptBuffer)}}}
	b.assemble()
	if b.frames = []frame{{bytes: []byte("small")}}; cap(b.assemble()) > keptBuffer {
		t.Errorf("a worker keeps %d bytes after a large message", cap(b.buffer))
	}
}

func TestAnEmptyQueueIsSmall(t *testing.T) {
	var q queue
	for range 100 {
		q.push(frame{})
	}
	for range 100 {
		q.pop()
	}
	if len(q.ring) > keptRing {
		t.Errorf("an empty queue keeps room for %d frames", len(q.ring))
	}
}

// Messages are joined up to the limit, and not by one byte above it.
func TestJoinedFramesReachTheLimit(t *testing.T) {
	for last, want := range map[int]int{joinMax - 11: 2, joinMax - 10: 1} {
		var l lanes
		l[Results].push(frame{bytes: make([]byte, 10)})
		l[Results].push(frame{bytes: make([]byte, last)})
		testenv.Equal(t, len(l.take(nil)), want, "messages share a frame of %d bytes", 10+1+last)
	}
}

// The workers begin while the rest of a crowd is still being queued.
func TestACrowdIsHandedOverInParts(t *testing.T) {
	p := newWorkers(nil)
	p.limit = 0 // no workers
	h := handover{lane: Rain, to: p}
	for range handoverSize {
		h.add(&Member{})
	}
	testenv.Equal(t, p.queues[Rain].n, handoverSize, "members that the workers have")
	h.add(&Member{})
	if h.flush(); p.queues[Rain].n != handoverSize+1 || h.ready.n != 0 {
		t.Errorf("the workers have %d members, and %d are left", p.queues[Rain].n, h.ready.n)
	}
}
