package wechat

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options are the settings of a Server. All are required.
type Options struct {
	MchID, AppID string
	Merchant     map[string]*rsa.PublicKey // the merchant's keys by their serial numbers
	APIv3Key     string                    // encrypts notifications, 32 bytes
	KeyID        string                    // of Key, with which the server signs
	Key          *rsa.PrivateKey
	SceneID      string
	Clock        func() int64 // Unix ms
}

// Server is the simulated WeChat Pay. It is an http.Handler for the API and the page on which players confirm. It is
// safe for concurrent use.
type Server struct {
	o   Options
	mux *http.ServeMux

	mu        sync.Mutex
	transfers map[string]*Transfer // by number
	balance   int64                // of the merchant, in fen
	skew      time.Duration        // of the server's clock
	errors    []failure            // of the next requests
	window    map[string]second    // the requests of each API
	peak      int                  // the most requests in a second that any API has answered
	pending   []notice             // notifications to send
}

// Transfer is a transfer in the server's books.
type Transfer struct {
	Number, OpenID, State, Fail, Package, NotifyURL string
	Amount                                          int64 // fen
	CreatedAt                                       int64 // Unix ms
	Made                                            int   // number of payments

	asked string // the first request
}

type failure struct {
	status int
	code   string
}

type second struct {
	at    int64
	count int
}

// The limits of the documents.
const (
	mostASecond   = 100
	mostUnnamed   = 199_999
	least         = 10
	confirmWithin = 24 * time.Hour
	keptFor       = 30 * 24 * time.Hour
	clockSlack    = 5 * time.Minute
)

// New returns a server. Its merchant has much money.
func New(o Options) *Server {
	s := &Server{o: o, mux: http.NewServeMux(), transfers: map[string]*Transfer{}, balance: 1 << 40,
		window: map[string]second{}}
	s.mux.HandleFunc("POST "+root, s.api("create", s.create))
	s.mux.HandleFunc("GET "+root+"/out-bill-no/{number}", s.api("query", s.query))
	s.mux.HandleFunc("GET "+PagePath, s.page)
	s.mux.HandleFunc("POST "+PagePath, s.confirm)
	return s
}

const root = "/v3/fund-app/mch-transfer/transfer-bills"

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// reply is an answer of the API.
type reply struct {
	status int
	body   any
}

func refuse(status int, code string) reply {
	return reply{status, map[string]string{"code": code, "message": "sandbox"}}
}

// api wraps an API: the signature, the rate and ordered errors come first, and every answer is signed.
func (s *Server) api(name string, do func(r *http.Request, body []byte) reply) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		answer, failed := s.precheck(name, r, body)
		if !failed {
			answer = do(r, body)
		}
		s.answer(w, answer)
	}
}

func (s *Server) precheck(name string, r *http.Request, body []byte) (reply, bool) {
	if !s.authentic(r, body) {
		return refuse(http.StatusUnauthorized, "SIGN_ERROR"), true
	}
	at := s.now() / 1000
	w := s.window[name]
	if w.at != at {
		w = second{at: at}
	}
	w.count++
	s.window[name] = w
	if w.count > mostASecond {
		return refuse(http.StatusTooManyRequests, "FREQUENCY_LIMITED"), true
	}
	s.peak = max(s.peak, w.count)
	if len(s.errors) > 0 {
		next := s.errors[0]
		s.errors = s.errors[1:]
		return refuse(next.status, next.code), true
	}
	return reply{}, false
}

// now is the server's own time, Unix ms.
func (s *Server) now() int64 { return s.o.Clock() + s.skew.Milliseconds() }

var authorizationPattern = regexp.MustCompile(`^WECHATPAY2-SHA256-RSA2048 mchid="(\w+)",serial_no="(\w+)",` +
	`timestamp="(\d+)",nonce_str="(\w+)",signature="([^"]+)"$`)

// authentic verifies a request of the merchant.
func (s *Server) authentic(r *http.Request, body []byte) bool {
	m := authorizationPattern.FindStringSubmatch(r.Header.Get("Authorization"))
	if len(m) == 0 || m[1] != s.o.MchID || s.o.Merchant[m[2]] == nil {
		return false
	}
	seconds, err := strconv.ParseInt(m[3], 10, 64)
	if err != nil || time.UnixMilli(s.now()).Sub(time.Unix(seconds, 0)).Abs() > clockSlack {
		return false
	}
	text := r.Method + "\n" + r.URL.RequestURI() + "\n" + m[3] + "\n" + m[4] + "\n" + string(body) + "\n"
	sum := sha256.Sum256([]byte(text))
	signature, err := base64.StdEncoding.DecodeString(m[5])
	return err == nil && rsa.VerifyPKCS1v15(s.o.Merchant[m[2]], crypto.SHA256, sum[:], signature) == nil
}

// sign sets the headers of an answer or a notification.
func (s *Server) sign(header http.Header, body []byte) {
	timestamp, nonce := strconv.FormatInt(s.now()/1000, 10), rand.Text()
	sum := sha256.Sum256([]byte(timestamp + "\n" + nonce + "\n" + string(body) + "\n"))
	signature, err := rsa.SignPKCS1v15(nil, s.o.Key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err) // the key is too short for any signature
	}
	header.Set("Wechatpay-Timestamp", timestamp)
	header.Set("Wechatpay-Nonce", nonce)
	header.Set("Wechatpay-Serial", s.o.KeyID)
	header.Set("Wechatpay-Signature", base64.StdEncoding.EncodeToString(signature))
	header.Set("Content-Type", "application/json")
}

func (s *Server) answer(w http.ResponseWriter, a reply) {
	body, err := json.Marshal(a.body)
	if err != nil {
		panic(err) // maps of texts and numbers
	}
	s.sign(w.Header(), body)
	w.WriteHeader(a.status)
	_, _ = w.Write(body) // the merchant may have gone
}

var numberPattern = regexp.MustCompile(`^[0-9A-Za-z]{1,32}$`)

// create makes a transfer, or finds the one of the same request.
func (s *Server) create(_ *http.Request, body []byte) reply {
	var o struct {
		AppID  string `json:"appid"`
		Number string `json:"out_bill_no"`
		Scene  string `json:"transfer_scene_id"`
		OpenID string `json:"openid"`
		Amount int64  `json:"transfer_amount"`
		Remark string `json:"transfer_remark"`
		Notify string `json:"notify_url"`
	}
	err := json.Unmarshal(body, &o)
	switch t := s.transfers[o.Number]; {
	case err != nil, !numberPattern.MatchString(o.Number), o.OpenID == "", o.Remark == "", o.AppID != s.o.AppID,
		o.Amount > mostUnnamed:
		return refuse(http.StatusBadRequest, "PARAM_ERROR")
	case t != nil && t.asked != string(body):
		return refuse(http.StatusBadRequest, "ALREADY_EXISTS")
	case t != nil:
		return reply{http.StatusOK, s.view(t, true)}
	case o.Scene != s.o.SceneID:
		return refuse(http.StatusForbidden, "NO_AUTH")
	case o.Amount < least:
		return refuse(http.StatusBadRequest, "INVALID_REQUEST")
	case o.Amount > s.balance:
		return refuse(http.StatusForbidden, "NOT_ENOUGH")
	}
	t := &Transfer{Number: o.Number, OpenID: o.OpenID, Amount: o.Amount, State: "ACCEPTED", NotifyURL: o.Notify,
		CreatedAt: s.now(), asked: string(body)}
	s.balance -= t.Amount
	s.transfers[o.Number] = t
	if !strings.HasSuffix(t.OpenID, Closed) { // those wait for Proceed
		t.State, t.Package = "WAIT_USER_CONFIRM", rand.Text()
	}
	return reply{http.StatusOK, s.view(t, true)}
}

// Closed is the end of an openid whose account is closed: transfers to it fail.
const Closed = "-closed"

func (s *Server) query(r *http.Request, _ []byte) reply {
	t := s.transfers[r.PathValue("number")]
	if t == nil || s.now()-t.CreatedAt > keptFor.Milliseconds() {
		return refuse(http.StatusNotFound, "NOT_FOUND")
	}
	return reply{http.StatusOK, s.view(t, false)}
}

// view returns a transfer as the API shows it: a query has the payee, and only the first answer has the package.
func (s *Server) view(t *Transfer, created bool) map[string]any {
	v := map[string]any{"out_bill_no": t.Number, "transfer_bill_no": "1330000" + t.Number, "state": t.State,
		"create_time": time.UnixMilli(t.CreatedAt).UTC().Format(time.RFC3339)}
	if t.Fail != "" {
		v["fail_reason"] = t.Fail
	}
	if !created {
		v["mch_id"], v["appid"], v["transfer_amount"], v["openid"] = s.o.MchID, s.o.AppID, t.Amount, t.OpenID
	} else if t.State == "WAIT_USER_CONFIRM" {
		v["package_info"] = t.Package
	}
	return v
}

// PagePath is the path of the page on which players confirm, in place of WeChat's own.
const PagePath = "/sandbox/wechat/confirm"

func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows bytes.Buffer
	for _, t := range s.transfers {
		if t.State == "WAIT_USER_CONFIRM" && (r.FormValue("package") == "" || r.FormValue("package") == t.Package) {
			fmt.Fprintf(&rows, `<form method="post"><input type="hidden" name="package" value="%s">`+
				`<p>¥%d.%02d <button>确认收款 · Confirm</button></p></form>`, t.Package, t.Amount/100, t.Amount%100)
		}
	}
	if rows.Len() == 0 {
		rows.WriteString("<p>没有待确认的转账 · Nothing to confirm</p>")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; form-action 'self'")
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="zh"><meta charset="utf-8">`+
		`<meta name="viewport" content="width=device-width"><title>模拟微信 · Simulated WeChat</title>`+
		`<h1>模拟微信 · Simulated WeChat</h1><p><strong>演示资金，不是真钱 · Play money, not real</strong></p>%s</html>`,
		rows.String()) // the reader may have gone
}

func (s *Server) confirm(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	for _, t := range s.transfers {
		if t.Package != "" && t.Package == r.FormValue("package") {
			s.move(t, "WAIT_USER_CONFIRM", "TRANSFERING")
		}
	}
	s.mu.Unlock()
	http.Redirect(w, r, PagePath, http.StatusSeeOther)
}
