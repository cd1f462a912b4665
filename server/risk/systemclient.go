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
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// Moment is the occasion of a request.
type Moment string

// The moments.
const (
	MomentGuest      Moment = "guest"      // a guest is to be made
	MomentHello      Moment = "hello"      // a player wants to come in
	MomentHold       Moment = "hold"       // our rules have a verdict against a player
	MomentWithdrawal Moment = "withdrawal" // a player wants to take money out
)

var allMoments = []Moment{MomentGuest, MomentHello, MomentHold, MomentWithdrawal}

// Caller is the player of a request, as far as known.
type Caller struct {
	User     string `json:"user"`
	Campaign string `json:"campaign,omitempty"`
	Address  string `json:"address,omitempty"` // as limits count it: of IPv6 the /64
	Session  string `json:"session,omitempty"` // the sid of the player's token
	Issued   int64  `json:"issued,omitempty"`  // issue time of the token, Unix ms
}

// Money is the withdrawal of a request.
type Money struct {
	Withdrawal string     `json:"withdrawal"`
	Amount     rain.Money `json:"amount"` // minor units
}

// Opinion is the verdict of our rules on a player.
type Opinion struct {
	Verdict standing.VerdictAct `json:"verdict"`
	Score   int                 `json:"score"`
	Reasons []standing.Reason   `json:"reasons"`
}

// Request is a request to the system. Fields unknown at a moment are left out.
type Request struct {
	ID     string `json:"id"` // unique to this request
	Moment Moment `json:"moment"`
	At     int64  `json:"at"` // the cluster's time, Unix ms
	Caller
	*Money
	Rules *Opinion `json:"rules,omitempty"`
}

const (
	// atOnce is the number of requests of this process in flight.
	atOnce = 64
	// maxWaiting is the number of further requests that wait, each no longer than the time-out.
	maxWaiting = 1024
)

// Errors of a request without an answer.
var (
	errLate = errors.New("no answer in time")
	errBusy = errors.New("too many questions wait for an answer")
)

// systemClient sends requests to the system, atOnce of them in flight.
type systemClient struct {
	sender  *signed.Sender
	timeout time.Duration
	places  chan struct{} // holds an element for each request in flight
	waiting atomic.Int64
	state   *systemState
}

// ask sends a request once. An error means that there is no answer.
func (c *systemClient) ask(ctx context.Context, q Request) (Answer, error) {
	began := time.Now()
	limit, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.send(limit, q)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return Answer{}, ctx.Err() // the caller is gone
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

// enter takes a place, or waits for one if not too many requests wait.
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
