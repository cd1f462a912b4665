package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// hall is a campaign's room in a test, seen from two nodes.
type hall struct {
	*testing.T

	rdb redis.UniversalClient
	s   *store.Store
	a   *store.Admission
	c   *rain.Campaign
}

// long is longer than a test takes.
const long = time.Hour

func newHall(t *testing.T, rdb redis.UniversalClient, capacity, rate int, times store.AdmissionTimes) *hall {
	t.Helper()
	clock := store.NewClock(rdb, nil)
	testenv.Must(t, clock.Sync(t.Context()))
	s := store.New(rdb, store.Options{Namespace: testenv.Namespace(t), Clock: clock.Now})
	c := &rain.Campaign{ID: "c1", Status: rain.Open}
	c.Capacity, c.AdmitPerSecond = capacity, rate
	return &hall{t, rdb, s, store.NewAdmission(s, times), c}
}

func (h *hall) turn(turn store.Turn, err error) store.Turn {
	h.Helper()
	testenv.Must(h, err)
	return turn
}

func (h *hall) ask(user string) store.Turn {
	h.Helper()
	return h.turn(h.a.Ask(h.Context(), h.c, user))
}

func (h *hall) enter(user, node string) store.Turn {
	h.Helper()
	return h.turn(h.a.Enter(h.Context(), h.c, user, node))
}

// place checks a player's position in the queue.
func (h *hall) place(turn store.Turn, position int) {
	h.Helper()
	if turn.Admitted || turn.Position != position || turn.Retry <= 0 {
		h.Errorf("%+v, want to wait at place %d", turn, position)
	}
}

func (h *hall) admitted(turn store.Turn, isNew bool) {
	h.Helper()
	if !turn.Admitted || turn.New != isNew {
		h.Errorf("%+v, want to be admitted, new %v", turn, isNew)
	}
}

func (h *hall) counts(waiting, seated int64) {
	h.Helper()
	if w, s, err := h.a.Counts(h.Context(), h.c.ID); err != nil || w != waiting || s != seated {
		h.Errorf("%d wait and %d have a seat (%v), want %d and %d", w, s, err, waiting, seated)
	}
}

func inEveryHall(t *testing.T, capacity, rate int, times store.AdmissionTimes, test func(h *hall)) {
	t.Helper()
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) { test(newHall(t, rdb, capacity, rate, times)) })
	}
}

// Players are admitted in the order of arrival, over all nodes. A free slot belongs to the first player in the queue,
// in any order of the calls.
func TestSeatsAreGivenInTheOrderOfArrival(t *testing.T) {
	inEveryHall(t, 2, 0, store.AdmissionTimes{Admitted: long}, func(h *hall) {
		h.admitted(h.ask("a"), true)
		h.admitted(h.enter("b", "n1"), true)
		h.admitted(h.ask("a"), false)
		h.admitted(h.enter("a", "n1"), false)
		for i, user := range []string{"c", "d", "e", "f"} {
			h.place(h.ask(user), i+1)
		}
		h.place(h.enter("e", "n2"), 3) // a hello asks as well, and keeps the position
		h.counts(4, 2)

		testenv.Must(h, h.a.Left(h.Context(), h.c.ID, "n1", []string{"a"}))
		h.place(h.ask("g"), 5)
		h.place(h.ask("d"), 2)
		h.admitted(h.ask("c"), true)
		h.place(h.ask("d"), 1)
		h.counts(4, 2)

		// Two slots are free: the first two players get them in any order.
		testenv.Must(h, h.a.Left(h.Context(), h.c.ID, "n1", []string{"b"}))
		h.c.Capacity = 3
		h.place(h.ask("f"), 3)
		h.admitted(h.ask("e"), true)
		h.place(h.ask("f"), 2)
		h.admitted(h.ask("d"), true)
		h.place(h.ask("f"), 1)
	})
}

// However many knock at once, there are never more seats than there may be.
func TestNeverMoreSeatsThanThereMayBe(t *testing.T) {
	inEveryHall(t, 50, 0, store.AdmissionTimes{}, func(h *hall) {
		var in atomic.Int64
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				for range 2 { // on two nodes: it is one slot
					turn, err := h.a.Enter(h.Context(), h.c, fmt.Sprintf("u%d", i), fmt.Sprintf("n%d", i%2))
					if err != nil {
						h.Error(err)
					}
					if turn.New {
						in.Add(1)
					}
				}
			})
		}
		all.Wait()
		testenv.Equal(h, in.Load(), 50, "so many were let in")
		h.counts(150, 50)
	})
}

// A slot expires if no node renews it. Only a connected player keeps a slot: asking does not.
func TestASeatThatNobodyKeepsIsGiven(t *testing.T) {
	inEveryHall(t, 2, 0, store.AdmissionTimes{Admitted: 300 * time.Millisecond}, func(h *hall) {
		h.admitted(h.enter("sits", "n1"), true)
		h.admitted(h.ask("asks"), true)
		testenv.Eventually(h, 20*time.Second, "a seat", func() bool {
			turn := h.enter("waits", "n1") // its slot lasts longer than a moment
			_ = h.ask("asks")
			return turn.Admitted
		})
		testenv.Must(h, h.a.Lost(h.Context(), h.c.ID, "n1", []string{"sits"}))
		h.admitted(h.ask("sits"), false) // a player who comes back in time has the slot
		h.counts(1, 2)
	})
}

// A player with a lost connection keeps the slot for a while and not for ever. A node that reports the player as
// connected keeps it.
func TestALostLineKeepsItsSeatForAWhile(t *testing.T) {
	inEveryHall(t, 2, 0, store.AdmissionTimes{Lost: 200 * time.Millisecond}, func(h *hall) {
		h.admitted(h.enter("a", "n1"), true)
		h.admitted(h.enter("b", "n1"), true)
		testenv.Must(h, h.a.Lost(h.Context(), h.c.ID, "n1", []string{"a"}))
		h.admitted(h.enter("b", "n2"), false)
		testenv.Eventually(h, 20*time.Second, "a seat", func() bool { return h.ask("c").Admitted })
		h.place(h.ask("a"), 1)
		if n, err := h.a.Keep(h.Context(), h.c.ID, "n2", []string{"b"}); n != 0 || err != nil {
			h.Errorf("keeping what is there: %d, %v", n, err)
		}
		// The node's next report restores slots that Redis has forgotten, also beyond the capacity.
		if n, err := h.a.Keep(h.Context(), h.c.ID, "n2", []string{"b", "x", "y"}); n != 2 || err != nil {
			h.Errorf("keeping what was forgotten: %d, %v", n, err)
		}
		h.counts(1, 4)
		h.place(h.ask("a"), 1)
	})
}

// A player on two nodes has one slot, and one of the two nodes cannot free it.
func TestOneOfTwoNodesDoesNotGiveUpTheSeat(t *testing.T) {
	inEveryHall(t, 1, 0, store.AdmissionTimes{Lost: time.Nanosecond}, func(h *hall) {
		h.admitted(h.enter("a", "n1"), true)
		h.admitted(h.enter("a", "n2"), false)
		for _, node := range []string{"n1", "n2", "n3"} {
			testenv.Must(h, h.a.Left(h.Context(), h.c.ID, node, []string{"a"}))
			testenv.Must(h, h.a.Lost(h.Context(), h.c.ID, node, []string{"a"}))
		}
		h.place(h.ask("b"), 1)
		h.counts(1, 1)
	})
}

// The number of admissions in a second is limited. Unused ones are not saved up for long.
func TestTheFlowIsLimited(t *testing.T) {
	inEveryHall(t, 0, 10, store.AdmissionTimes{}, func(h *hall) {
		began := time.Now()
		var in []int
		for i := range 60 {
			if h.ask(fmt.Sprintf("u%d", i)).Admitted {
				in = append(in, i)
			}
		}
		took := time.Since(began)
		if most := 20 + int(10*took.Seconds()) + 1; len(in) < 20 || len(in) > most {
			h.Errorf("%d were let in within %v, want 20 to %d", len(in), took, most)
		}
		if !slices.Equal(in[:20], []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}) {
			h.Errorf("%v, want the first ones", in)
		}
		// A player far behind gets the expected wait, and asks again later.
		last := h.ask("u59")
		if h.place(last, 60-len(in)); last.Wait < time.Second || last.Wait > 10*time.Second {
			h.Errorf("%v for place %d at 10 a second", last.Wait, last.Position)
		}
		next := fmt.Sprintf("u%d", len(in))
		testenv.Eventually(h, 20*time.Second, "a seat", func() bool { return h.ask(next).Admitted })
	})
}

// The first two in the queue have gone, and their positions are kept. At one admission a second they do not hold up
// others for long.
func TestWhoHasGoneHoldsUpNobody(t *testing.T) {
	inEveryHall(t, 0, 1, store.AdmissionTimes{}, func(h *hall) {
		h.admitted(h.ask("a"), true)
		h.admitted(h.ask("b"), true)
		queue, asked := h.s.WaitingKeys(h.c.ID)
		for i, user := range []string{"gone", "too"} {
			came := redis.Z{Score: 2.1 + float64(i)/10, Member: user} // after b, before the third
			kept := redis.Z{Score: float64(time.Now().Add(long).UnixMilli()), Member: user}
			testenv.Must(h, errors.Join(h.rdb.ZAdd(h.Context(), queue, came).Err(),
				h.rdb.ZAdd(h.Context(), asked, kept).Err()))
		}
		h.place(h.ask("third"), 3)
		testenv.Eventually(h, 20*time.Second, "the third is let in", func() bool { return h.ask("third").Admitted })
		h.counts(2, 3)
	})
}

// Players far behind ask seldom, so that a long queue costs little. The first one asks each second, and the interval
// grows by 10 ms for each position. It is at most a minute, give or take a tenth. So 7,000 players ask some 430 times a
// second.
func TestWhoIsFarBehindAsksSeldom(t *testing.T) {
	rdb := grabtest.InProcess(t)
	h := newHall(t, rdb, 1, 0, store.AdmissionTimes{})
	h.admitted(h.ask("in"), true)
	queue, asked := h.s.WaitingKeys(h.c.ID)
	var came, kept []redis.Z
	for i := range 7000 {
		user := fmt.Sprintf("u%d", i)
		came = append(came, redis.Z{Score: float64(i), Member: user})
		kept = append(kept, redis.Z{Score: float64(time.Now().Add(long).UnixMilli()), Member: user})
	}
	for key, members := range map[string][]redis.Z{queue: came, asked: kept} {
		testenv.Must(t, rdb.ZAdd(t.Context(), key, members...).Err())
	}
	for _, ahead := range []int{0, 5, 10, 100, 1000, 5899, 6999} {
		turn := h.ask(fmt.Sprintf("u%d", ahead))
		h.place(turn, ahead+1)
		want := min(time.Second+time.Duration(ahead)*10*time.Millisecond, time.Minute)
		if turn.Retry < want*9/10-time.Millisecond || turn.Retry > want*11/10 {
			t.Errorf("place %d asks again after %v, want about %v", turn.Position, turn.Retry, want)
		}
	}
}
