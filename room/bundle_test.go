package room

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"redrain/internal/testenv"
)

// What comes in bundles comes in order, also between bundles and single messages, and joined where it can be.
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

// Nobody hears of a bundle before it is delivered, and what is delivered to a member that has closed harms nobody.
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
