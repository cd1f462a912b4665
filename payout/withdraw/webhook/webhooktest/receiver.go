// Package webhooktest is the reference receiver of payments for tests. It follows docs/use/payments.md, and simulates
// failures on demand.
package webhooktest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"redrain/internal/signed"
	"redrain/rain"
)

// Secret is a secret for tests.
const Secret = "whsec_cmVkcmFpbi10ZXN0LXNlY3JldC1vZi0zMi1ieXRlcyE=" //nolint:gosec // public

// Behaviour is a receiver's reaction to one request.
type Behaviour int

// The behaviours. None of them pays a key twice.
const (
	Pay         Behaviour = iota // pays, and reports it
	PayTwice                     // pays, and reports it twice in one answer
	PayAndFail                   // pays, and answers 500
	PayAndHang                   // pays, and does not answer before the sender gives up
	PayAndBreak                  // pays, and closes the connection
	Fail                         // answers 503, with a delay of a second
	Hang                         // does nothing until the sender gives up
	Refuse                       // refuses for good; it reports a paid one as paid
	Missing                      // answers 404, as a proxy without the receiver does
)

// Request is a payment request.
type Request struct {
	ID        string     `json:"id"`
	User      string     `json:"user"`
	Amount    rain.Money `json:"amount"`
	Currency  string     `json:"currency"`
	CreatedAt int64      `json:"created_at"`
	Try       int        `json:"-"` // number of requests with this key, from 1
}

// Receiver is an http.Handler that pays. Make it with New, and set its fields before the first request.
type Receiver struct {
	// Behave decides the reaction to a request; nil always pays.
	Behave func(r Request) Behaviour
	// Now is the receiver's clock; time.Now unless set.
	Now func() time.Time

	key []byte

	mu      sync.Mutex
	paid    map[string]rain.Money // by key
	refused map[string]bool
	bodies  map[string]string // by key, the last ones
	tries   map[string]int
	faults  []string
}

// New makes a receiver with Secret.
func New() *Receiver {
	key, err := signed.ParseSecret(Secret)
	if err != nil {
		panic("webhooktest: " + err.Error())
	}
	return &Receiver{
		Now: time.Now, key: key, paid: map[string]rain.Money{}, refused: map[string]bool{}, bodies: map[string]string{},
		tries: map[string]int{},
	}
}

// Paid returns the paid amounts by key.
func (rc *Receiver) Paid() map[string]rain.Money {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return maps.Clone(rc.paid)
}

// Tries counts the requests with a key.
func (rc *Receiver) Tries(key string) int {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return rc.tries[key]
}

// Faults lists the sender's faults: a bad signature, a key with another body, an invalid payment.
func (rc *Receiver) Faults() []string {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return append([]string(nil), rc.faults...)
}

// ServeHTTP implements http.Handler.
func (rc *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender has gone before the end of the request
	}
	if err := signed.Verify(rc.key, r.Header, body, rc.Now()); err != nil {
		rc.fault("%v", err)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	req, ok := rc.register(r, body)
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	do := Pay
	if rc.Behave != nil {
		do = rc.Behave(req)
	}
	rc.answer(w, r, req, do)
}

// register records a request, and compares it with the first one with its key.
func (rc *Receiver) register(r *http.Request, body []byte) (req Request, ok bool) {
	err := json.Unmarshal(body, &req)
	switch {
	case err != nil || r.Method != http.MethodPost || req.ID == "" || req.User == "" || req.Amount < 1 ||
		req.Currency != "CNY" || req.CreatedAt < 1:
		rc.fault("no payment: %s %s", r.Method, body)
		return req, false
	case r.Header.Get("Idempotency-Key") != req.ID || r.Header.Get("Webhook-Id") != req.ID:
		rc.fault("payment %s came under key %q and id %q", req.ID, r.Header.Get("Idempotency-Key"),
			r.Header.Get("Webhook-Id"))
		return req, false
	}
	rc.mu.Lock()
	first, known := rc.bodies[req.ID]
	rc.tries[req.ID]++
	req.Try = rc.tries[req.ID]
	rc.bodies[req.ID] = string(body)
	rc.mu.Unlock()
	if known && first != string(body) {
		rc.fault("payment %s was %s and is %s", req.ID, first, body)
		return req, false
	}
	return req, true
}

// answer does a behaviour. A key keeps its outcome: a paid one is never refused, and a refused one never paid.
func (rc *Receiver) answer(w http.ResponseWriter, r *http.Request, req Request, do Behaviour) {
	switch do {
	case Fail:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "come back later", http.StatusServiceUnavailable)
		return
	case Missing:
		http.NotFound(w, r)
		return
	case Hang:
		hang(r)
	}
	if !rc.settle(req, do != Refuse) {
		reply{ID: req.ID, Refused: true, Reason: "the account is closed"}.send(w, http.StatusUnprocessableEntity)
		return
	}
	switch do {
	case PayAndFail:
		http.Error(w, "something broke after the payment", http.StatusInternalServerError)
		return
	case PayAndHang:
		hang(r)
	case PayAndBreak:
		panic(http.ErrAbortHandler)
	case PayTwice:
		reply{ID: req.ID, Reference: "bank-" + req.ID}.send(w, http.StatusOK)
	}
	reply{ID: req.ID, Reference: "bank-" + req.ID}.send(w, http.StatusOK)
}

// hang waits until the sender has gone. If the handler returned at once, a sender that is about to give up could get
// a 200.
func hang(r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// settle decides a key's outcome, unless it is decided, and reports whether it is paid.
func (rc *Receiver) settle(req Request, pay bool) (paid bool) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if _, done := rc.paid[req.ID]; done {
		return true
	}
	if rc.refused[req.ID] || !pay {
		rc.refused[req.ID] = true
		return false
	}
	rc.paid[req.ID] = req.Amount
	return true
}

func (rc *Receiver) fault(format string, args ...any) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.faults = append(rc.faults, fmt.Sprintf(format, args...))
}

// reply is the body of an answer.
type reply struct {
	ID        string `json:"id"`
	Reference string `json:"reference,omitempty"`
	Refused   bool   `json:"refused,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

func (a reply) send(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(a) //nolint:errchkjson // an error means that the sender has gone
}
