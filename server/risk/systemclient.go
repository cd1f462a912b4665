package risk

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"redrain/internal/signed"
)

const (
	// atOnce is how many requests of this process are under way.
	atOnce = 64
	// maxWaiting is how many more wait for one of them to end, each no longer than the time-out.
	maxWaiting = 1024
)

// Errors of a question that has no answer.
var (
	errLate = errors.New("no answer in time")
	errBusy = errors.New("too many questions wait for an answer")
)

// systemClient asks the system, so many times at once.
type systemClient struct {
	sender  *signed.Sender
	timeout time.Duration
	places  chan struct{} // holds an element for each request under way
	waiting atomic.Int64
	state   *systemState
}

// ask asks once. An error says that there is no answer.
func (c *systemClient) ask(ctx context.Context, q Request) (Answer, error) {
	began := time.Now()
	limit, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.send(limit, q)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return Answer{}, ctx.Err() // who has asked is gone
	case err != nil && limit.Err() != nil:
		err = errLate
	}
	c.state.ended(q.Moment, answer, err, time.Since(began))
	return answer, err
}

func (c *systemClient) send(ctx context.Context, q Request) (Answer, error) {
	if err := c.enter(ctx); err != nil {
		return Answer{}, err
	}
	defer func() { <-c.places }()
	q.ID = "r" + strings.ToLower(rand.Text())
	body, err := json.Marshal(q)
	if err != nil {
		return Answer{}, err
	}
	said, err := c.sender.Post(ctx, q.ID, body, nil)
	if err != nil {
		return Answer{}, err
	}
	return readAnswer(said)
}

// enter takes a place, or waits for one where not too many do.
func (c *systemClient) enter(ctx context.Context) error {
	select {
	case c.places <- struct{}{}:
		return nil
	default:
	}
	if c.waiting.Add(1) > maxWaiting {
		c.waiting.Add(-1)
		return errBusy
	}
	defer c.waiting.Add(-1)
	select {
	case c.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errLate
	}
}
