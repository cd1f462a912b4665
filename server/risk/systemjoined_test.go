package risk

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/payout/ledger/standing"
)

// waitingFor is how many wait for the answer to a question.
func (r *rig) waitingFor(q question) int {
	r.joined.mu.Lock()
	defer r.joined.mu.Unlock()
	if one := r.joined.now[q]; one != nil {
		return one.waiting
	}
	return 0
}

// A player who says hello many times at once is asked about once, and all of them hear the answer; another player, and
// the same one from elsewhere or later, are asked about by themselves. One who gives up ends it for nobody else.
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
	waiting := func(n int) {
		t.Helper()
		testenv.Eventually(t, time.Minute, "all wait for one answer", func() bool {
			return r.waitingFor(question{moment: MomentHello, who: who}) == n
		})
	}
	hello(impatient, who, context.Canceled)
	waiting(1) // it is the one who has asked
	for range many {
		hello(t.Context(), who, standing.ErrDenied)
	}
	waiting(many + 1)
	giveUp()
	waiting(many)
	hello(t.Context(), elsewhere, standing.ErrDenied)
	hello(t.Context(), Caller{User: "v", Campaign: "c", Address: "192.0.2.1"}, standing.ErrDenied)
	testenv.Eventually(t, time.Minute, "all have asked", func() bool { return len(r.asked) == 3 })
	close(free)
	wg.Wait()
	if err := r.Hello(t.Context(), who); !errors.Is(err, standing.ErrDenied) || len(r.asked) != 4 {
		t.Errorf("%v, asked %d times", err, len(r.asked))
	}
}

// Nobody waits for what nobody wants to know any more.
func TestAQuestionEndsWithItsLastAsker(t *testing.T) {
	gone := make(chan struct{})
	r := open(t, func(_ http.ResponseWriter, hr *http.Request) {
		<-hr.Context().Done()
		close(gone)
	}, func(o *SystemOptions) { o.Timeout = time.Minute })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Hello(ctx, Caller{User: "u"}) }()
	<-r.asked
	cancel()
	testenv.WantErr(t, <-ended, context.Canceled)
	<-gone
}

// A panic in a question is the end of nothing but the question.
func TestAQuestionThatPanics(t *testing.T) {
	j := joined{now: map[question]*inquiry{}}
	q := question{moment: MomentHello}
	_, err := j.ask(t.Context(), q, func(context.Context) (Answer, error) { panic("at the disco") })
	if !errors.Is(err, loop.ErrPanic) || len(j.now) != 0 {
		t.Errorf("%v; %d questions are left", err, len(j.now))
	}
}

// Who ends a question waits for its end, so that nothing goes on that nobody owns.
func TestTheLastAskerWaitsForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		ended := false
		j := joined{now: map[question]*inquiry{}}
		_, err := j.ask(ctx, question{}, func(ctx context.Context) (Answer, error) {
			<-ctx.Done()
			time.Sleep(time.Second) //nolint:forbidigo // fake time
			ended = true
			return Answer{}, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) || !ended {
			t.Errorf("%v, at its end: %v", err, ended)
		}
	})
}
