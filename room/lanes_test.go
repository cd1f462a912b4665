package room

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// laneModel is what lanes ought to do, in the plainest way.
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

// same tells whether two messages, neither empty, are one.
func same(a, b []byte) bool { return &a[0] == &b[0] && len(a) == len(b) }
