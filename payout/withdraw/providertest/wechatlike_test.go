package providertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/withdraw"
	"redrain/payout/withdraw/providertest"
	"redrain/rain"
)

// wechatLike is a provider for a receiver like WeChat's transfers to users since 2025. The withdrawal's id is the
// number of a bill. The player confirms with a package in the receiver's app within a day. The same number is the
// same bill forever. It is the example of docs/use/payments.md.
type wechatLike struct {
	client

	merchant string
}

// Receiver implements withdraw.Provider.
func (p wechatLike) Receiver() withdraw.Receiver {
	return withdraw.Receiver{Provider: "wechatlike", Address: p.base, Account: p.merchant}
}

// bill is a transfer in the receiver's books.
type bill struct {
	Number   string     `json:"out_bill_no"`
	Theirs   string     `json:"transfer_bill_no"`
	State    string     `json:"state"`
	Package  string     `json:"package_info"`
	Deadline int64      `json:"confirm_before"` // Unix ms
	Fail     string     `json:"fail_reason"`
	User     string     `json:"openid"`
	Amount   rain.Money `json:"transfer_amount"`
	Code     string     `json:"code"` // of an error
}

// Pay implements withdraw.Provider: an existing bill is found by its number, and not made again.
func (p wechatLike) Pay(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
	body, err := json.Marshal(map[string]any{"out_bill_no": pay.Key, "openid": pay.User, "transfer_amount": pay.Amount})
	if err != nil {
		return withdraw.Answer{}, err
	}
	var b bill
	_, err = p.call(ctx, http.MethodPost, "/v3/transfer-bills", string(body), &b)
	if err != nil {
		return withdraw.Answer{}, err
	}
	return b.answer(pay)
}

// Ask implements withdraw.Asker. It trusts only the receiver's error code for an unknown bill: a wrong path is a 404,
// too.
func (p wechatLike) Ask(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
	var b bill
	status, err := p.call(ctx, http.MethodGet, "/v3/transfer-bills/out-bill-no/"+url.PathEscape(pay.Key), "", &b,
		http.StatusNotFound)
	switch {
	case err != nil:
		return withdraw.Answer{}, err
	case status == http.StatusNotFound && b.Code == "NOT_FOUND":
		return withdraw.Answer{Status: withdraw.Unknown}, nil
	}
	return b.answer(pay)
}

// answer returns the answer for a bill. An unknown state is an error.
func (b bill) answer(pay withdraw.Payment) (a withdraw.Answer, err error) {
	if b.Number != pay.Key {
		return a, fmt.Errorf("the answer names bill %q", b.Number)
	}
	a = withdraw.Answer{Reference: b.Theirs, Reason: b.Fail}
	switch b.State {
	case "SUCCESS":
		a.Status = withdraw.Paid
	case "FAIL", "CANCELLED":
		a.Status = withdraw.Refused
	case "WAIT_USER_CONFIRM":
		a.Status = withdraw.ActionRequired
		a.Action = ledger.Action{Data: b.Package, Until: b.Deadline}
	case "ACCEPTED", "PROCESSING", "TRANSFERING", "CANCELING":
		a.Status = withdraw.Pending
	default:
		return a, fmt.Errorf("bill %s is in the state %q", b.Number, b.State)
	}
	return a, nil
}

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

// create makes a bill. An existing number returns its bill, if all other fields are the same.
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

// proceed lets the receiver do its work.
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

// move changes the state of a bill that waits for its player.
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
