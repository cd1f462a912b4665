// Package alipay simulates Alipay's transfers to accounts, as their public documents describe them: see package alipay
// of the providers for the list. Its money is play money. Tests use it.
//
// It verifies each request's signature and time, makes a number's transfer once, and signs its answers and
// notifications. Its own code signs, so that a mistake of the provider does not hide.
package alipay

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are the settings of a Server. All are required.
type Options struct {
	AppID       string
	Application *rsa.PublicKey
	Key         *rsa.PrivateKey // Alipay's own
	Clock       func() int64    // Unix ms
}

// Server is the simulated Alipay. It is an http.Handler for the gateway, and safe for concurrent use.
type Server struct {
	o Options

	mu        sync.Mutex
	transfers map[string]*Transfer // by number
	balance   int64                // of the merchant, in fen
	skew      time.Duration        // of the server's clock
	errors    []string             // sub codes for the next requests
	pending   []url.Values         // notifications to send
}

// Transfer is a transfer in the server's books.
type Transfer struct {
	Number, Payee, State string
	Amount               string // yuan
	Made                 int    // number of payments

	asked string // the first request
	fen   int64
}

// New returns a server. Its merchant has much money.
func New(o Options) *Server {
	return &Server{o: o, transfers: map[string]*Transfer{}, balance: 1 << 40}
}

// Closed is the end of an account that does not exist: transfers to it are refused.
const Closed = "-closed"

// clockSlack is the largest difference of a request's time.
const clockSlack = 15 * time.Minute

var beijing = time.FixedZone("UTC+8", 8*60*60)

func (s *Server) now() time.Time { return time.UnixMilli(s.o.Clock()).Add(s.skew).In(beijing) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	method := r.PostForm.Get("method")
	body := s.serve(method, r.PostForm)
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // a map of texts
	}
	name := strings.ReplaceAll(method, ".", "_") + "_response"
	w.Header().Set("Content-Type", "text/html;charset=utf-8")                    // as the gateway does
	_, _ = fmt.Fprintf(w, `{%q:%s,"sign":%q}`, name, text, s.sign(string(text))) //nolint:gosec // as JSON
}

func (s *Server) serve(method string, form url.Values) map[string]string {
	at, err := time.ParseInLocation(time.DateTime, form.Get("timestamp"), beijing)
	switch {
	case form.Get("app_id") != s.o.AppID || !s.authentic(form):
		return map[string]string{"code": "40002", "sub_code": "isv.invalid-signature"}
	case err != nil || s.now().Sub(at).Abs() > clockSlack:
		return map[string]string{"code": "40002", "sub_code": "isv.invalid-timestamp"}
	case len(s.errors) > 0:
		code := s.errors[0]
		s.errors = s.errors[1:]
		return failed(code)
	}
	switch method {
	case "alipay.fund.trans.uni.transfer":
		return s.transfer(form.Get("biz_content"))
	case "alipay.fund.trans.common.query":
		return s.query(form.Get("biz_content"))
	}
	return map[string]string{"code": "40002", "sub_code": "isv.invalid-method"}
}

func failed(code string) map[string]string {
	if code == "SYSTEM_BUSY" {
		return map[string]string{"code": "20000", "sub_code": "aop.ACQ.SYSTEM_ERROR"}
	}
	return map[string]string{"code": "40004", "msg": "Business Failed", "sub_code": code}
}

// transfer makes a transfer, or finds the one of the same request.
func (s *Server) transfer(content string) map[string]string {
	var o struct {
		Number  string `json:"out_biz_no"`
		Amount  string `json:"trans_amount"`
		Product string `json:"product_code"`
		Scene   string `json:"biz_scene"`
		Payee   struct {
			Identity string `json:"identity"`
			Type     string `json:"identity_type"`
		} `json:"payee_info"`
	}
	var yuan, rest int64
	err := json.Unmarshal([]byte(content), &o)
	if err == nil {
		_, err = fmt.Sscanf(o.Amount, "%d.%02d", &yuan, &rest)
	}
	fen := yuan*100 + rest
	switch t := s.transfers[o.Number]; {
	case err != nil, o.Number == "", o.Product != "TRANS_ACCOUNT_NO_PWD", o.Scene != "DIRECT_TRANSFER",
		o.Payee.Type == "":
		return failed("INVALID_PARAMETER")
	case t != nil && t.asked != content:
		return failed("DUPLICATE_ORDER")
	case t != nil:
		return s.view(t)
	case strings.HasSuffix(o.Payee.Identity, Closed):
		return failed("PAYEE_NOT_EXIST")
	case fen < 10:
		return failed("EXCEED_LIMIT_SM_MIN_AMOUNT")
	case fen > s.balance:
		return failed("PAYER_BALANCE_NOT_ENOUGH")
	}
	t := &Transfer{Number: o.Number, Payee: o.Payee.Identity, Amount: o.Amount, State: "DEALING", asked: content,
		fen: fen}
	s.balance -= fen
	s.transfers[o.Number] = t
	return s.view(t)
}

func (s *Server) query(content string) map[string]string {
	var o struct {
		Number string `json:"out_biz_no"`
	}
	if json.Unmarshal([]byte(content), &o) != nil {
		return failed("INVALID_PARAMETER")
	}
	t := s.transfers[o.Number]
	if t == nil {
		return failed("ORDER_NOT_EXIST")
	}
	v := s.view(t)
	v["trans_amount"] = t.Amount
	return v
}

func (*Server) view(t *Transfer) map[string]string {
	return map[string]string{"code": "10000", "msg": "Success", "out_biz_no": t.Number,
		"order_id": "20190801110070000006380000" + t.Number, "status": t.State}
}

// Proceed pays the open transfers.
func (s *Server) Proceed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, number := range slices.Sorted(maps.Keys(s.transfers)) {
		t := s.transfers[number]
		if t.State != "DEALING" {
			continue
		}
		t.State = "SUCCESS"
		t.Made++
		content, err := json.Marshal(map[string]string{"out_biz_no": number, "status": t.State, "action_type": "FINISH",
			"product_code": "TRANS_ACCOUNT_NO_PWD", "biz_scene": "DIRECT_TRANSFER", "trans_amount": t.Amount})
		if err != nil {
			panic(err) // a map of texts
		}
		s.pending = append(s.pending, url.Values{"biz_content": {string(content)}, "app_id": {s.o.AppID},
			"msg_method": {"alipay.fund.trans.order.changed"}, "notify_id": {rand.Text()}, "charset": {"utf-8"},
			"version": {"1.1"}, "sign_type": {"RSA2"}, "utc_timestamp": {fmt.Sprint(s.now().UnixMilli())}})
	}
}

// Transfers returns the books, by number.
func (s *Server) Transfers() (list []Transfer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, number := range slices.Sorted(maps.Keys(s.transfers)) {
		list = append(list, *s.transfers[number])
	}
	return list
}

// Charge sets the merchant's balance, in fen.
func (s *Server) Charge(balance int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.balance = balance
}

// FailNext answers the next n requests with a sub code, and does nothing for them.
func (s *Server) FailNext(code string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = slices.Repeat([]string{code}, n)
}

// SkewClock moves the server's clock.
func (s *Server) SkewClock(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew = by
}

// Notifications returns the signed forms for the ended transfers, and forgets them.
func (s *Server) Notifications() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, form := range s.pending {
		form.Set("sign", s.sign(joined(form)))
		list = append(list, form.Encode())
	}
	s.pending = nil
	return list
}

// joined returns the text to sign.
func joined(form url.Values) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if name != "sign" {
			parts = append(parts, name+"="+form.Get(name))
		}
	}
	return strings.Join(parts, "&")
}

func (s *Server) sign(text string) string {
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, s.o.Key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err) // the key is too short for any signature
	}
	return base64.StdEncoding.EncodeToString(signature)
}

// authentic verifies a request of the application.
func (s *Server) authentic(form url.Values) bool {
	signature, err := base64.StdEncoding.DecodeString(form.Get("sign"))
	sum := sha256.Sum256([]byte(joined(form)))
	return err == nil && rsa.VerifyPKCS1v15(s.o.Application, crypto.SHA256, sum[:], signature) == nil
}
