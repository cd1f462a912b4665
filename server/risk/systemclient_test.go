package risk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger/standing"
)

// The number of requests in flight is limited, and so is the number of waiting ones. A further request fails at once.
func TestPlaces(t *testing.T) {
	var now, most atomic.Int64
	free := make(chan struct{})
	r := open(t, func(w http.ResponseWriter, hr *http.Request) {
		for n := now.Add(1); ; {
			was := most.Load()
			if n <= was || most.CompareAndSwap(was, n) {
				break
			}
		}
		<-free
		now.Add(-1)
		says(`{"verdict":"allow"}`)(w, hr)
	}, func(o *SystemOptions) { o.Timeout, o.Default = time.Minute, standing.Deny })
	var wg sync.WaitGroup
	var failed atomic.Int64
	for i := range atOnce + maxWaiting {
		wg.Go(func() {
			if err := r.Hello(t.Context(), Caller{User: fmt.Sprint(i)}); err != nil {
				failed.Add(1)
			}
		})
	}
	testenv.Eventually(t, time.Minute, "all places are taken", func() bool {
		return r.client.waiting.Load() == maxWaiting && now.Load() == atOnce
	})
	testenv.WantErr(t, r.Hello(t.Context(), Caller{User: "one more"}), ErrNoAnswer)
	if n := r.counted(t, MomentHello, outcomeBusy); n != 1 {
		t.Errorf("%d were too many", n)
	}
	close(free)
	wg.Wait()
	if most.Load() > atOnce || failed.Load() != 0 {
		t.Errorf("%d at once, %d failed", most.Load(), failed.Load())
	}
}

// An outage is reported at its start and at its end, for any number of requests meanwhile.
func TestOutage(t *testing.T) {
	var ill atomic.Bool
	ill.Store(true)
	r := open(t, func(w http.ResponseWriter, hr *http.Request) {
		if ill.Load() {
			http.Error(w, "ill", http.StatusInternalServerError)
			return
		}
		says(`{"verdict":"allow"}`)(w, hr)
	}, nil)
	state := r.client.state
	alarm := state.alarm
	state.alarm = func(message string) { // it may be slow, so no question waits for it
		if !state.mu.TryLock() {
			t.Error("the alarm is raised under the lock")
		} else {
			state.mu.Unlock()
		}
		alarm(message)
	}
	for i := range 100 {
		testenv.Must(t, r.Hello(t.Context(), Caller{User: fmt.Sprint(i)}))
	}
	if r.log.count() != 1 || len(r.alarms) != 1 {
		t.Errorf("%d lines, %d alarms", r.log.count(), len(r.alarms))
	}
	if message := <-r.alarms; !strings.Contains(message, "--risk-default allow") ||
		strings.Contains(message, "127.0.0.1") {
		t.Error(message)
	}
}

// A system that answers now and then does not fill the log.
func TestFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &systemState{}
		fails := func(want bool) {
			t.Helper()
			if got := s.count(false, time.Now()); got != want {
				t.Errorf("fails: %v", got)
			}
		}
		works := func(want bool) {
			t.Helper()
			if got := s.count(true, time.Now()); got != want {
				t.Errorf("works: %v", got)
			}
		}
		fails(false)
		works(false)
		fails(false)
		fails(false)
		fails(true)
		fails(false)
		works(false)
		time.Sleep(failingFor)
		works(true)
		works(false)
		fails(false)
		fails(false)
		fails(true)
	})
}

// Verdicts that come during a write are written together. Each reported verdict is written.
func TestRecordsTogether(t *testing.T) {
	b := &book{of: map[string]standing.Verdict{}, stuck: make(chan struct{})}
	r := newRecords(b, func() {}, nil)
	const all = 500
	var wg sync.WaitGroup
	waiting := func(n int) {
		t.Helper()
		testenv.Eventually(t, time.Minute, "one writes, and the others wait", func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.writing && len(r.next.verdicts) == n
		})
	}
	for i := range all {
		if i == 1 {
			waiting(0)
		}
		wg.Go(func() {
			user := fmt.Sprint(i)
			if err := r.write(t.Context(), standing.Verdict{User: user, Act: standing.Hold}); err != nil {
				t.Error(err)
			}
			if b.act(user) != standing.Hold {
				t.Errorf("%s was reported, and is not written", user)
			}
		})
	}
	waiting(all - 1)
	close(b.stuck)
	wg.Wait()
	if b.given != 2 {
		t.Errorf("%d verdicts took %d transactions", all, b.given)
	}
	b.fails = errors.New("down")
	if err := r.write(t.Context(), standing.Verdict{User: "x"}); err == nil {
		t.Error("not written, and no error")
	}
}

// A full page takes no more, and who does not wait for it any more has it written all the same.
func TestAFullPageIsWritten(t *testing.T) {
	b := &book{of: map[string]standing.Verdict{}, stuck: make(chan struct{})}
	r := newRecords(b, func() {}, nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	write := func(i int) error { return r.write(gone, standing.Verdict{User: fmt.Sprint(i), Act: standing.Hold}) }
	testenv.WantErr(t, write(-1), context.Canceled)
	testenv.Eventually(t, time.Minute, "the first is being written", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.next.verdicts) == 0
	})
	for i := range maxPage {
		testenv.WantErr(t, write(i), context.Canceled)
	}
	testenv.WantErr(t, write(maxPage), errBusy)
	close(b.stuck)
	testenv.Eventually(t, time.Minute, "all are written", func() bool { return b.act(fmt.Sprint(maxPage-1)) != "" })
	testenv.Must(t, r.write(t.Context(), standing.Verdict{User: "later", Act: standing.Hold}))
	if b.given != 3 || len(b.of) != maxPage+2 {
		t.Errorf("%d verdicts in %d transactions", len(b.of), b.given)
	}
}

// docs/use/abuse.md has the request, character by character.
func TestRequestIsAsDescribed(t *testing.T) {
	body, err := json.Marshal(Request{ID: "r1", Moment: MomentHold, At: 1, Caller: Caller{User: "u", Campaign: "c",
		Address: "a", Session: "s", Issued: 2}, Rules: &Opinion{Verdict: standing.Hold, Score: 70,
		Reasons: []standing.Reason{{Rule: "fast_hands", Score: 70, Sentence: "x"}}}})
	const want = `{"id":"r1","moment":"hold","at":1,"user":"u","campaign":"c","address":"a","session":"s","issued":2,` +
		`"rules":{"verdict":"hold","score":70,"reasons":[{"rule":"fast_hands","score":70,"sentence":"x"}]}}`
	if err != nil || string(body) != want {
		t.Errorf("%s, %v", body, err)
	}
	body, err = json.Marshal(Request{ID: "r1", Moment: MomentWithdrawal, At: 1, Caller: Caller{User: "u"},
		Money: &Money{Withdrawal: "w", Amount: 250}})
	const money = `{"id":"r1","moment":"withdrawal","at":1,"user":"u","withdrawal":"w","amount":250}`
	if err != nil || string(body) != money {
		t.Errorf("%s, %v", body, err)
	}
}

// waitingContext counts who waits for the end of it.
type waitingContext struct {
	context.Context

	n *atomic.Int64
}

func (c waitingContext) Done() <-chan struct{} {
	c.n.Add(1)
	return c.Context.Done()
}

// Several hellos of a player at the same time cause one request, and all receive its answer. Another player causes a
// request of their own. So does the same player from elsewhere or later. A caller that gives up ends it for no other
// one.
func TestTheSameQuestionIsAskedOnce(t *testing.T) {
	free := make(chan struct{})
	r := open(t, func(w http.ResponseWriter, hr *http.Request) {
		<-free
		says(`{"verdict":"deny"}`)(w, hr)
	}, func(o *SystemOptions) { o.Timeout = time.Minute })
	who := Caller{User: "u", Campaign: "c", Address: "192.0.2.1"}
	elsewhere := who
	elsewhere.Address = "192.0.2.2"
	const many = 100
	var wg sync.WaitGroup
	impatient, giveUp := context.WithCancel(t.Context())
	hello := func(ctx context.Context, who Caller, want error) {
		wg.Go(func() {
			if err := r.Hello(ctx, who); !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %v", who, err, want)
			}
		})
	}
	hello(impatient, who, context.Canceled)
	testenv.Eventually(t, time.Minute, "the first has asked", func() bool { return len(r.asked) == 1 })
	var waiting atomic.Int64
	for range many {
		hello(waitingContext{t.Context(), &waiting}, who, standing.ErrDenied)
	}
	testenv.Eventually(t, time.Minute, "all wait for one answer", func() bool { return waiting.Load() == many })
	giveUp()
	hello(t.Context(), elsewhere, standing.ErrDenied)
	hello(t.Context(), Caller{User: "v", Campaign: "c", Address: "192.0.2.1"}, standing.ErrDenied)
	testenv.Eventually(t, time.Minute, "all have asked", func() bool { return len(r.asked) == 3 })
	close(free)
	wg.Wait()
	if err := r.Hello(t.Context(), who); !errors.Is(err, standing.ErrDenied) || len(r.asked) != 4 {
		t.Errorf("%v, asked %d times", err, len(r.asked))
	}
}

// A hold that the system gives after an outage has the system's reason on record. It stays when the system allows the
// next hello, because only a hold for a missing answer ends with an answer.
func TestAHoldAfterNoAnswerStays(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "ill", http.StatusInternalServerError)
	})
	r := open(t, func(w http.ResponseWriter, q *http.Request) { answer(w, q) },
		func(o *SystemOptions) { o.Default = standing.Hold })
	for _, said := range []string{"", `{"verdict":"hold","reasons":["a stolen card"]}`, `{"verdict":"allow"}`} {
		if said != "" {
			answer = says(said)
		}
		if err := r.Hello(t.Context(), Caller{User: "u"}); err != nil {
			t.Error(err)
		}
	}
	v, _ := r.book.newest("u")
	if reasons := standing.ParseReasons(v.Reasons); v.Act != standing.Hold || len(reasons) != 1 ||
		reasons[0].Sentence != "a stolen card" {
		t.Errorf("on record: %+v", v)
	}
}
