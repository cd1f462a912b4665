package providertest_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"redrain/payout/withdraw"
	"redrain/payout/withdraw/providertest"
	"redrain/rain"
)

// stripeServer is the sandbox of a receiver like Stripe.
type stripeServer struct {
	mux *http.ServeMux

	mu        sync.Mutex
	keys      map[string]*transfer // by Idempotency-Key, until forget
	transfers []*transfer
	made      []providertest.Made
	room      int // creations that are left in this second; below 0: no limit
	most      int // creations in a second
	refusals  int // for want of room
}

const stripeKey = "sk_test_stripe-like-secret"

// stripePace is how many transfers may be made in a second.
const stripePace = 15

func newStripe() *stripeServer {
	s := &stripeServer{mux: http.NewServeMux(), keys: map[string]*transfer{}, room: stripePace, most: stripePace}
	s.mux.HandleFunc("POST /v1/transfers", s.create)
	s.mux.HandleFunc("GET /v1/transfers", s.list)
	return s
}

func (s *stripeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+stripeKey {
		say(w, http.StatusUnauthorized, map[string]string{"error": "Invalid API Key provided"})
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *stripeServer) create(w http.ResponseWriter, r *http.Request) {
	key, group, user := r.Header.Get("Idempotency-Key"), r.PostFormValue("transfer_group"),
		r.PostFormValue("destination")
	amount, err := strconv.ParseInt(r.PostFormValue("amount"), 10, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.keys[key]
	switch {
	case err != nil || key == "" || user == "" || amount < 1 || r.PostFormValue("currency") != "cny":
		say(w, http.StatusBadRequest, map[string]string{"error": "invalid_request_error"})
		return
	case t != nil && (t.Group != group || t.User != user || t.Amount != rain.Money(amount)):
		say(w, http.StatusBadRequest, map[string]string{"error": "idempotency_error"})
		return
	case t == nil && s.room == 0:
		s.refusals++
		say(w, http.StatusTooManyRequests, map[string]string{"error": "rate_limit"})
		return
	case t == nil:
		s.room--
		t = &transfer{ID: fmt.Sprintf("tr_%d", len(s.transfers)+1), Group: group, User: user,
			Amount: rain.Money(amount), Status: "pending"}
		s.keys[key] = t
		s.transfers = append(s.transfers, t)
	}
	say(w, http.StatusOK, t)
}

func (s *stripeServer) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []*transfer{}
	for _, t := range s.transfers {
		if t.Group == r.FormValue("transfer_group") {
			found = append(found, t)
		}
	}
	say(w, http.StatusOK, map[string]any{"object": "list", "data": found})
}

// proceed lets a second pass: payments come to their end.
func (s *stripeServer) proceed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room = s.most
	for _, t := range s.transfers {
		switch {
		case t.Status == "pending" && t.User == "closed":
			t.Status, t.Failure = "failed", "the account is closed"
		case t.Status == "pending":
			t.Status = "in_transit"
		case t.Status == "in_transit":
			t.Status = "paid"
			s.made = append(s.made, providertest.Made{Key: t.Group, User: t.User, Amount: t.Amount})
		}
	}
}

// forget lets a day pass: the keys are forgotten, the transfers are not.
func (s *stripeServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.keys)
}

func (s *stripeServer) payments() []providertest.Made {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]providertest.Made(nil), s.made...)
}

func (s *stripeServer) sandbox(t *testing.T) providertest.Sandbox {
	t.Helper()
	breaker := &providertest.Breaker{Next: s}
	base := serve(t, breaker).URL
	return providertest.Sandbox{
		New: func() withdraw.Provider {
			return stripeLike{client: newClient(t, base, stripeKey), account: "acct_1"}
		},
		Made: s.payments, Go: s.proceed, Refused: "closed", Breaker: breaker, Secrets: []string{stripeKey},
	}
}
