package risk

import (
	"context"
	"sync"

	"redrain/internal/loop"
)

// question is what is asked, without what is of one request alone.
type question struct {
	moment Moment
	who    Caller
	money  Money
}

// joined has the same question asked once at a time: who asks it meanwhile waits for the same answer. So a player who
// comes with many connections at once is asked about once. It lasts until the last of them does not wait any more.
type joined struct {
	recoverer *loop.Recoverer // a panic in a question is the end of nothing but the question

	mu  sync.Mutex
	now map[question]*inquiry
}

// inquiry is a question that is under way.
type inquiry struct {
	waiting int                // those who want to know, under the lock of joined
	cancel  context.CancelFunc // nobody wants to know
	done    chan struct{}      // closed when there is an answer, or why there is none
	answer  Answer
	err     error
}

// ask asks, or waits for the answer to what somebody else has asked.
func (j *joined) ask(ctx context.Context, q question, ask func(context.Context) (Answer, error)) (Answer, error) {
	j.mu.Lock()
	one := j.now[q]
	if one == nil {
		asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
		one = &inquiry{cancel: cancel, done: make(chan struct{})}
		j.now[q] = one
		go func() {
			defer cancel()
			defer j.answered(q, one)
			one.err = j.recoverer.Try("risk_url", func() (err error) {
				one.answer, err = ask(asking)
				return err
			})
		}()
	}
	one.waiting++
	j.mu.Unlock()
	select {
	case <-one.done:
		return one.answer, one.err
	case <-ctx.Done():
	}
	j.mu.Lock()
	one.waiting--
	last := one.waiting == 0
	if last {
		j.over(q, one)
	}
	j.mu.Unlock()
	if last { // who ends the question waits for its end
		one.cancel()
		<-one.done
	}
	return Answer{}, ctx.Err()
}

// answered tells all who wait.
func (j *joined) answered(q question, one *inquiry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over(q, one)
	close(one.done)
}

// over lets who comes now ask again. It needs the lock.
func (j *joined) over(q question, one *inquiry) {
	if j.now[q] == one {
		delete(j.now, q)
	}
}
