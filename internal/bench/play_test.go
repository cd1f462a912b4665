package bench

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
)

// rig is a crowd without a network in a bubble of synctest: the test is its server, whose clock begins at 0.
type rig struct {
	*Crowd
	t     *testing.T
	begin time.Time

	mu   sync.Mutex
	taps []sentTap
}

// sentTap is a tap that the server has got.
type sentTap struct {
	ms     int64 // of the server
	player int
	id     int64
	drop   string
}

func newRig(t *testing.T, players int) *rig {
	t.Helper()
	r := &rig{t: t, begin: time.Now()}
	r.Crowd = newCrowd(t.Context(), Options{Players: players, Campaigns: []string{"c1"},
		Targets: []string{"ws://test/ws"}})
	t.Cleanup(r.stop)
	r.clocks[0] = serverClock{offset: -r.begin.UnixNano(), rtt: 1}
	for _, p := range r.players {
		p.connect(rigSocket{r, p.id})
		p.joined, p.isNew, p.cameAt = true, false, -catchUp
	}
	r.tally.count(func(c *counts) { c.connected = int64(players) })
	return r
}

// at waits until a time of the server.
func (r *rig) at(ms int64) {
	time.Sleep(time.Until(r.begin.Add(time.Duration(ms) * time.Millisecond)))
	synctest.Wait()
}

// start begins a play without the crowd, so that the test alone decides when it ends.
func (r *rig) start(plan Plan) {
	r.tally.begin()
	for _, p := range r.players {
		p.start(&plan)
	}
}

func (r *rig) end() counts {
	r.tally.end()
	for _, p := range r.players {
		p.stop()
	}
	return r.tally.take()
}

func (r *rig) tell(player int, messages ...any) {
	for i, m := range messages {
		body := wire.Encode(m)
		kind, _, _ := strings.Cut(strings.TrimPrefix(string(body), `{"type":"`), `"`)
		r.players[player].receive(client.Message{Type: kind, Body: body, First: i == 0})
	}
}

// answer answers the n-th tap.
func (r *rig) answer(n int, outcome string) {
	r.mu.Lock()
	s := r.taps[n]
	r.mu.Unlock()
	r.tell(s.player, wire.Result{Type: wire.TypeResult, ID: wire.ID(strconv.FormatInt(s.id, 10)), Drop: s.drop,
		Outcome: outcome})
}

// drops are the taps as "drop@ms", in order.
func (r *rig) drops() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]string, len(r.taps))
	for i, s := range r.taps {
		all[i] = s.drop + "@" + strconv.FormatInt(s.ms, 10)
	}
	return all
}

type rigSocket struct {
	rig    *rig
	player int
}

func (s rigSocket) Tap(id int64, drop string) error {
	s.rig.mu.Lock()
	defer s.rig.mu.Unlock()
	s.rig.taps = append(s.rig.taps, sentTap{time.Since(s.rig.begin).Milliseconds(), s.player, id, drop})
	return nil
}

func (rigSocket) Ping(int64, int64) error { return nil }
func (rigSocket) Leave() error            { return nil }
func (rigSocket) Close() error            { return nil }

// aWave is wave n, which appears at n·250 ms, with drops of these fall times; less than 0 is a decoy's.
func aWave(n int64, falls ...int) wire.Wave {
	w := wire.Wave{Type: wire.TypeWave, Rain: "r1", N: n, At: n * rain.WaveMS, Drops: [][4]int{}}
	for k, fall := range falls {
		kind := rain.Packet
		if fall < 0 {
			kind, fall = rain.Decoy, -fall
		}
		w.Drops = append(w.Drops, [4]int{k, 0, int(kind), fall})
	}
	return w
}

// steady is a hand that takes the same times always.
func steady(reaction, pause time.Duration) *Hand {
	return &Hand{Reaction: func() time.Duration { return reaction }, Pause: func() time.Duration { return pause }}
}

func TestTaps(t *testing.T) {
	for name, tc := range map[string]struct {
		plan Plan
		play func(*rig)
		want []string // drop@ms
	}{
		"a player taps what is in the air, no decoy, in rising order, each drop once": {Plan{}, func(r *rig) {
			r.at(1_000)
			r.tell(0, aWave(2, 400, 900), aWave(4, 2_000, -2_000, 2_000)) // 2.0 has landed
			r.at(1_004)
			r.answer(0, "empty")
			r.at(1_020)
			r.tell(0, aWave(4, 2_000, -2_000, 2_000), aWave(6, 1_000)) // once more, and one that comes at 1500
			r.answer(1, "empty")
			r.at(1_100)
			r.answer(2, "won")
			r.at(1_600)
		}, []string{"2.1@1000", "4.0@1005", "4.2@1020", "6.0@1505"}},
		"a player thinks, and a wave makes it no faster": {Plan{Think: 300 * time.Millisecond}, func(r *rig) {
			r.at(1_000)
			r.tell(0, aWave(0, 9_000, 9_000)) // it starves after its first pause, which is at random
			r.at(1_100)
			r.answer(0, "empty")
			r.at(1_300)
			r.tell(0, aWave(5, 9_000))
			r.at(1_600)
		}, []string{"0.0@1000", "0.1@1400"}},
		"a person sees a drop first, takes the newest, and rests": {
			Plan{Hand: steady(300*time.Millisecond, 300*time.Millisecond)}, func(r *rig) {
				r.at(400)
				r.tell(0, aWave(2, 1_500, 1_500), aWave(3, 900)) // at 500 and 750
				r.at(850)
				r.answer(0, "empty") // makes no player quicker
				r.at(1_800)
			}, []string{"2.0@800", "3.0@1100", "2.1@1400"}},
		"a program taps each drop when it opens": {Plan{Hand: steady(0, 50*time.Millisecond)}, func(r *rig) {
			r.at(400)
			r.tell(0, aWave(2, 900, -900, 900))
			r.at(700)
		}, []string{"2.0@505", "2.2@555"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1)
				tc.plan.Duration = time.Minute
				r.start(tc.plan)
				tc.play(r)
				r.end()
				testenv.Equal(t, cmp.Diff(tc.want, r.drops()), "", "drops")
			})
		})
	}
}

func TestStarvation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.start(Plan{Duration: time.Minute})
		r.at(200)
		r.tell(0, aWave(0, 1_000)) // it starved until now
		r.answer(0, "empty")
		r.at(500)
		if c := r.end(); c.Starvations != 2 || c.Starved != 500*time.Millisecond {
			t.Errorf("starved %d times for %s", c.Starvations, c.Starved)
		}
	})
}

// In an open loop taps go on while the server stands still for a second, which is charged for all the taps of that
// second. A tap that the generator sends late counts from when it was due, too.
func TestOpenLoopIsCorrectedForCoordinatedOmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 10)
		for p := range r.players {
			r.tell(p, aWave(0, slices.Repeat([]int{60_000}, 100)...))
		}
		r.at(1_000)
		go func() { // answers at once, but for a second
			for n := 0; n < 301; {
				switch {
				case n == 100:
					time.Sleep(time.Second)
					fallthrough
				case n < len(r.drops()):
					r.answer(n, "empty")
					n++
				default:
					time.Sleep(time.Millisecond)
				}
			}
		}()
		report := r.Play(t.Context(), Plan{Duration: 2995 * time.Millisecond, Rate: 100})
		if report.Taps != 300 || report.Answered != 300 || report.NothingInAir+report.NobodyThere != 0 {
			t.Fatalf("%+v", report)
		}
		// A third of the taps was due in the second of the stall, and waited for 0.5 s of it on average.
		if l := report.Latency; l.P50 > 2_000 || l.Max < 990_000 || l.Mean < 150_000 || l.Mean > 190_000 {
			t.Errorf("latency %+v", l)
		}
		r.tapOpen(0, time.Now().Add(-time.Second))
		r.at(9_000)
		if c := r.end(); c.Times.Max() < 999_000 {
			t.Errorf("a tap that is sent late takes %d µs", c.Times.Max())
		}
		turns := map[int]int{}
		for _, s := range r.taps[:300] {
			turns[s.player]++
		}
		for p, n := range turns {
			testenv.Equal(t, n, 30, "taps of player %d", p)
		}
	})
}

func TestOpenLoopCountsWhatItCannotSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2)
		plan := Plan{Duration: 990 * time.Millisecond, Rate: 10}
		if report := r.Play(t.Context(), plan); report.NothingInAir != 10 || report.Taps != 0 {
			t.Errorf("%+v", report)
		}
		for _, p := range r.players {
			p.hangUp()
		}
		if report := r.Play(t.Context(), plan); report.NobodyThere != 10 || report.Away != 0 {
			t.Errorf("%+v", report)
		}
	})
}

// A result that comes when no more taps are sent is no part of the rate. A fault before the play counts.
func TestRateCountsResultsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.tell(0, aWave(0, 9_000, 9_000))
		r.at(1_000)
		r.players[0].fault("before the play")
		r.start(Plan{Duration: time.Second})
		r.answer(0, "empty")
		r.tally.end()
		r.answer(1, "empty")
		if c := r.end(); c.Answered != 2 || c.inTime != 1 || c.pending != 0 || len(c.Faults) != 1 {
			t.Errorf("%+v", c)
		}
	})
}

// A result belongs to a tap, names the drop that was tapped, and has a claim if it is a win.
func TestFaultyResults(t *testing.T) {
	for name, change := range map[string]func(*wire.Result){
		"":                    func(*wire.Result) {},
		"of another drop":     func(m *wire.Result) { m.Drop = "3.1" },
		"a win without claim": func(m *wire.Result) { m.Claim = "" },
		"a claim without win": func(m *wire.Result) { m.Outcome = "empty" },
		"of no tap":           func(m *wire.Result) { m.ID = "77" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1)
				r.tell(0, aWave(0, 9_000))
				r.at(1_000)
				r.start(Plan{Duration: time.Second})
				m := wire.Result{Type: wire.TypeResult, ID: "1", Drop: "0.0", Outcome: won, Amount: 1, Packet: "1",
					Claim: "c1-1"}
				change(&m)
				r.tell(0, m)
				if c := r.end(); (len(c.Faults) > 0) != (name != "") {
					t.Errorf("faults %v", c.Faults)
				}
			})
		})
	}
}
