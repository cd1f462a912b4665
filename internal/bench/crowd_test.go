package bench_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/bench"
	"redrain/internal/bench/benchtest"
	"redrain/internal/testenv"
)

// gather lets players into a room that a test has made. A player's token is "p" and its number.
func gather(t *testing.T, room *benchtest.Room, change func(*bench.Options)) (*bench.Crowd, error) {
	t.Helper()
	s := httptest.NewServer(room)
	t.Cleanup(s.Close)
	o := bench.Options{
		Targets: []string{"ws" + strings.TrimPrefix(s.URL, "http")}, Campaigns: []string{"c1"}, Players: 20,
		Token: func(_ context.Context, player int) (string, error) { return "p" + strconv.Itoa(player), nil },
	}
	if change != nil {
		change(&o)
	}
	crowd, err := bench.Gather(t.Context(), o)
	if err == nil {
		t.Cleanup(crowd.Leave)
	}
	return crowd, err
}

func mustGather(t *testing.T, room *benchtest.Room, change func(*bench.Options)) *bench.Crowd {
	t.Helper()
	crowd, err := gather(t, room, change)
	testenv.Must(t, err)
	return crowd
}

// until is a context that ends when the function is called n times.
func until(t *testing.T, n int64) (ctx context.Context, called func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var count atomic.Int64
	return ctx, func() {
		if count.Add(1) == n {
			cancel()
		}
	}
}

// Every tap is answered once and counted, and no player taps a drop twice. Every win of the server is in the report.
func TestClosedLoop(t *testing.T) {
	const taps = 2_000
	ctx, tapped := until(t, taps)
	room := &benchtest.Room{Answer: func(user, drop string) (string, string) {
		tapped()
		if strings.HasSuffix(drop, ".5") {
			return "won", user + "-" + drop
		}
		return "empty", ""
	}}
	crowd := mustGather(t, room, nil)
	if !crowd.AwaitRain(t.Context()) {
		t.Fatal("it does not rain")
	}
	r := crowd.Play(ctx, bench.Plan{Duration: 30 * time.Second})
	won := 0
	for key, times := range room.Taps() {
		user, drop, _ := strings.Cut(key, " ")
		testenv.Equal(t, times, 1, "taps of %s on %s", user, drop)
		if strings.HasSuffix(drop, ".5") {
			won++
		}
		if strings.HasSuffix(drop, ".5") && !slices.ContainsFunc(r.Told, func(w bench.Win) bool {
			return w.Claim == user+"-"+drop && w.Amount == benchtest.Amount &&
				"p"+strconv.Itoa(w.Player) == user
		}) {
			t.Errorf("the win of %s with %s is not reported", user, drop)
		}
	}
	all := int64(len(room.Taps()))
	if r.Taps != all || r.Answered != all || r.Times.TotalCount() != all || all < taps ||
		r.Unanswered+r.Lost != 0 ||
		r.Outcomes["won"] != int64(won) || r.Outcomes["won"]+r.Outcomes["empty"] != all || len(r.Told) != won {
		t.Errorf("%d taps got there, %d of them wins; report %+v", all, won, r)
	}
	if r.Joined != 20 || len(r.NotJoined)+len(r.Faults)+len(r.Errors)+len(r.Closes) != 0 ||
		r.Reconnects+r.Broken != 0 {
		t.Errorf("report %+v", r)
	}
}

// Players come back after the codes that allow it and tap on; the same drop is not tapped again.
func TestReconnect(t *testing.T) {
	ctx, tapped := until(t, 1_000)
	var closing atomic.Int64
	room := &benchtest.Room{
		Answer: func(string, string) (string, string) { tapped(); return "empty", "" },
		Closing: func(string) int {
			if closing.Add(1) <= 5 {
				return 4000
			}
			return 0
		},
	}
	r := mustGather(t, room, nil).Play(ctx, bench.Plan{Duration: 30 * time.Second})
	if r.Closes["4000"] != 5 || r.Lost != 5 || r.Reconnects > 5 || r.Taps != r.Answered+5 || len(r.Faults) != 0 {
		t.Errorf("report %+v", r)
	}
	for key, times := range room.Taps() {
		testenv.Equal(t, times, 1, "times of %s", key)
	}
}

// With one of several servers gone, its players play on another.
func TestPlayersMoveToAnotherServer(t *testing.T) {
	gone := httptest.NewServer(&benchtest.Room{Closing: func(string) int { return 4000 }})
	t.Cleanup(gone.Close)
	const players = 10
	ctx, here := until(t, players)
	room := &benchtest.Room{Welcome: func(string) int { here(); return 0 }}
	crowd := mustGather(t, room, func(o *bench.Options) {
		o.Players, o.Targets = players, append(o.Targets, "ws"+strings.TrimPrefix(gone.URL, "http"))
	})
	crowd.Play(ctx, bench.Plan{Duration: 30 * time.Second})
	testenv.Equal(t, len(room.Welcomes()), players, "players have come to the other server")
}

// A player who is refused for good does not try again, and the others play.
func TestRefused(t *testing.T) {
	var tries atomic.Int64
	room := &benchtest.Room{Welcome: func(user string) int {
		if user == "p3" {
			tries.Add(1)
			return 4500
		}
		return 0
	}}
	r := mustGather(t, room, nil).Play(t.Context(), bench.Plan{Duration: time.Millisecond, Watch: true})
	if r.Joined != 19 || len(r.NotJoined) != 1 || r.Closes["4500"] != 1 || tries.Load() != 1 {
		t.Errorf("%d tries; report %+v", tries.Load(), r)
	}
	_, err := gather(t, &benchtest.Room{Welcome: func(string) int { return 4502 }}, nil)
	closed, ok := errors.AsType[*client.ClosedError](err)
	if !ok || closed.Code != 4502 || !strings.Contains(err.Error(), "as the test wants") {
		t.Errorf("no player is admitted: %v", err)
	}
}

// A tap without an answer is reported, and not waited for longer than is wanted.
func TestUnanswered(t *testing.T) {
	room := &benchtest.Room{}
	ctx, answered := until(t, 100)
	room.Answer = func(user, _ string) (string, string) {
		if user == "p0" {
			return "", ""
		}
		answered()
		return "empty", ""
	}
	crowd := mustGather(t, room, nil)
	r := crowd.Play(ctx, bench.Plan{Duration: 30 * time.Second, Drain: 20 * time.Millisecond})
	if r.Unanswered < 1 || r.Taps != r.Answered+r.Unanswered {
		t.Errorf("report %+v", r)
	}
}

// TestGatherFails: the players need more files than there are, or the server does not answer.
func TestGatherFails(t *testing.T) {
	o := bench.Options{Targets: []string{"ws://localhost:1/ws"}, Campaigns: []string{"c"}, Players: 1 << 30,
		Token: func(context.Context, int) (string, error) { return "t", nil }, JoinWithin: time.Millisecond}
	if _, err := bench.Gather(t.Context(), o); err == nil || !strings.Contains(err.Error(), "open files") {
		t.Errorf("a billion players: %v", err)
	}
	o.Players = 1
	if _, err := bench.Gather(t.Context(), o); err == nil ||
		!strings.Contains(err.Error(), "no player could join in time") {
		t.Errorf("no server: %v", err)
	}
}

// A queued player polls over HTTP as often as the server says, and connects again once it has a slot. A player without
// a queue position connects again, too. No player is given up, and the report has the order.
func TestTheWaitingRoom(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked, knocked := map[string]int{}, map[string]int{}
	room := &benchtest.Room{Turn: func(token string) (int, int64) {
		mu.Lock()
		defer mu.Unlock()
		knocked[token]++
		switch {
		case token == "p0" && knocked[token] == 1:
			return 0, 1 // as of an address that has all its seats
		case token == "p1" && knocked[token] == 1:
			return 7, 1
		}
		return 0, 0
	}}
	crowd := mustGather(t, room, func(o *bench.Options) {
		o.Players = 3
		o.Turn = func(_ context.Context, player int, token, campaign string) (openapi.Admission, error) {
			mu.Lock()
			defer mu.Unlock()
			if asked[token]++; player != 1 || campaign != "c1" || knocked[token] != 1 {
				t.Errorf("player %d of %s asks", player, campaign)
			}
			return openapi.Admission{Admitted: asked[token] == 3, Position: 8 - asked[token], RetryAfterMS: 1}, nil
		}
	})
	r := crowd.Play(t.Context(), bench.Plan{Duration: time.Millisecond, Watch: true})
	mu.Lock()
	defer mu.Unlock()
	w := r.Waiting
	if r.Joined != 3 || w.Waited != 2 || w.Admitted != 2 ||
		asked["p1"] != 3 || knocked["p0"] != 2 || knocked["p1"] != 2 || knocked["p2"] != 1 {
		t.Errorf("%+v; asked %v, knocked %v", r, asked, knocked)
	}
}

// With Knock, Gather does not wait for queued players. A player who leaves frees a slot for one of them.
func TestKnockAndStay(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seats := map[string]bool{}
	left := make(chan string, 10)
	room := &benchtest.Room{
		Turn: func(token string) (int, int64) {
			mu.Lock()
			defer mu.Unlock()
			if len(seats) == 2 {
				return 1, 1
			}
			seats[token] = true
			return 0, 0
		},
		Left: func(user string) {
			mu.Lock()
			defer mu.Unlock()
			delete(seats, user)
			left <- user
		},
	}
	crowd := mustGather(t, room, func(o *bench.Options) { o.Players, o.Knock = 4, true })
	if g := crowd.Progress(); g.Joined != 2 {
		t.Fatalf("%d have joined", g.Joined)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for range 4 { // all have been in
			select {
			case <-left:
			case <-t.Context().Done():
			}
		}
	}()
	r := crowd.Play(ctx, bench.Plan{Duration: time.Minute, Watch: true, Stay: time.Millisecond})
	if r.Joined != 4 || r.Left != 4 || r.Waiting.Waited != 2 || r.Waiting.Admitted != 2 || len(r.Closes) != 2 &&
		r.Closes["4003"] == 0 || r.Broken != 0 {
		t.Errorf("%+v", r)
	}
}

// A server that says when to come back is not asked before; one that says tomorrow is not waited for.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	room := &benchtest.Room{}
	var refusals atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		testenv.Equal(t, r.Header.Get("X-Forwarded-For"), "198.18.0.1", "from")
		if refusals.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		room.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	began := time.Now()
	gather := func(token error) error {
		crowd, err := bench.Gather(t.Context(), bench.Options{
			Targets: []string{"ws" + strings.TrimPrefix(s.URL, "http")}, Campaigns: []string{"c1"}, Players: 1,
			Header: func(int) http.Header { return http.Header{"X-Forwarded-For": {"198.18.0.1"}} },
			Token:  func(context.Context, int) (string, error) { return "p", token },
		})
		if err != nil {
			return err
		}
		crowd.Leave()
		return nil
	}
	if err := gather(nil); err != nil || time.Since(began) < time.Second || refusals.Load() != 2 {
		t.Errorf("%v after %s and %d tries", err, time.Since(began), refusals.Load())
	}
	refused := errors.New("enough of you today")
	testenv.WantErr(t, gather(tomorrow{refused}), refused, "a day's wait")
}

// tomorrow is a refusal for a day.
type tomorrow struct{ error }

func (tomorrow) RetryAfter() time.Duration { return 24 * time.Hour }

func (t tomorrow) Unwrap() error { return t.error }
