package providertest_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"redrain/payout/withdraw"
	"redrain/payout/withdraw/providertest"
)

// wechatServer is the sandbox of a receiver like WeChat's.
type wechatServer struct {
	mux *http.ServeMux

	mu    sync.Mutex
	bills map[string]*bill
	made  []providertest.Made
}

const wechatKey = "wechat-like-secret"

// confirmBefore is within a day of the payments' time.
const confirmBefore = 1_763_712_000_000 + 24*60*60*1000

func newWechat() *wechatServer {
	s := &wechatServer{mux: http.NewServeMux(), bills: map[string]*bill{}}
	s.mux.HandleFunc("POST /v3/transfer-bills", s.create)
	s.mux.HandleFunc("GET /v3/transfer-bills/out-bill-no/{number}", s.query)
	return s
}

func (s *wechatServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+wechatKey {
		say(w, http.StatusUnauthorized, map[string]string{"code": "SIGN_ERROR"})
		return
	}
	s.mux.ServeHTTP(w, r)
}

// create makes a bill. The number of one that there is finds it, if all else is the same too.
func (s *wechatServer) create(w http.ResponseWriter, r *http.Request) {
	var asked bill
	err := json.NewDecoder(r.Body).Decode(&asked)
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bills[asked.Number]
	switch {
	case err != nil || asked.Number == "" || asked.User == "" || asked.Amount < 1:
		say(w, http.StatusBadRequest, map[string]string{"code": "PARAM_ERROR"})
		return
	case b == nil:
		b = &bill{Number: asked.Number, User: asked.User, Amount: asked.Amount, Theirs: "1330000" + asked.Number,
			State: "ACCEPTED"}
		s.bills[asked.Number] = b
	case b.User != asked.User || b.Amount != asked.Amount:
		say(w, http.StatusBadRequest, map[string]string{"code": "ALREADY_EXISTS"})
		return
	}
	say(w, http.StatusOK, b)
}

func (s *wechatServer) query(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bills[r.PathValue("number")]; b != nil {
		say(w, http.StatusOK, b)
		return
	}
	say(w, http.StatusNotFound, map[string]string{"code": "NOT_FOUND"})
}

// proceed has the receiver get on with its work.
func (s *wechatServer) proceed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bills {
		switch b.State {
		case "ACCEPTED":
			if b.User == "closed" {
				b.State, b.Fail = "FAIL", "ACCOUNT_NOT_EXIST"
				continue
			}
			b.State, b.Package, b.Deadline = "WAIT_USER_CONFIRM", "affffddafdfafddffda==", confirmBefore
		case "TRANSFERING":
			b.State = "SUCCESS"
			s.made = append(s.made, providertest.Made{Key: b.Number, User: b.User, Amount: b.Amount})
		case "CANCELING":
			b.State = "CANCELLED"
		}
	}
}

// move brings a bill that waits for its player into another state.
func (s *wechatServer) move(state string) func(key string) {
	return func(key string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if b := s.bills[key]; b != nil && b.State == "WAIT_USER_CONFIRM" {
			b.State, b.Package = state, ""
		}
	}
}

func (s *wechatServer) payments() []providertest.Made {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]providertest.Made(nil), s.made...)
}

func openWechat(t *testing.T) providertest.Sandbox {
	t.Helper()
	s := newWechat()
	breaker := &providertest.Breaker{Next: s}
	base := serve(t, breaker).URL
	return providertest.Sandbox{
		New: func() withdraw.Provider {
			return wechatLike{client: newClient(t, base, wechatKey), merchant: "1900001109"}
		},
		Made: s.payments, Go: s.proceed, Confirm: s.move("TRANSFERING"), Expire: s.move("CANCELING"),
		Refused: "closed", Breaker: breaker, Secrets: []string{wechatKey},
	}
}
