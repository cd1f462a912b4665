package bench_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/bench"
	"redrain/internal/bench/benchtest"
)

// Who has a place asks for it over HTTP as often as the server says, and comes to the socket when it has a seat; who
// has none comes back to the socket. Nobody is given up, and the report has the order.
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
		o.Turn = func(_ context.Context, player int, token, campaign string) (bench.Turn, error) {
			mu.Lock()
			defer mu.Unlock()
			if asked[token]++; player != 1 || campaign != "c1" || knocked[token] != 1 {
				t.Errorf("player %d of %s asks", player, campaign)
			}
			return bench.Turn{Admitted: asked[token] == 3, Position: 8 - asked[token], Retry: time.Millisecond}, nil
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

// Gather does not wait for those who wait for a seat, where it is told so; and who leaves makes room for them.
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
		if r.Header.Get("X-Forwarded-For") != "198.18.0.1" {
			t.Errorf("from %q", r.Header.Get("X-Forwarded-For"))
		}
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
	if err := gather(tomorrow{refused}); !errors.Is(err, refused) {
		t.Errorf("a day's wait: %v", err)
	}
}

// tomorrow is a refusal for a day.
type tomorrow struct{ error }

func (tomorrow) RetryAfter() time.Duration { return 24 * time.Hour }

func (t tomorrow) Unwrap() error { return t.error }
