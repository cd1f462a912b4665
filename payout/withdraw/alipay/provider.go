// Package alipay pays withdrawals through Alipay's transfers to accounts (单笔转账): it is the payment provider "alipay".
//
// It implements these public documents of the open platform (https://opendocs.alipay.com/open/):
//
//   - transfer: 62987723_alipay.fund.trans.uni.transfer
//   - query: 58a29899_alipay.fund.trans.common.query
//   - notification: alipay.fund.trans.order.changed, sent to the application's gateway address
//   - signature: RSA2 over the sorted parameters, and over the answer's own text
//
// The number of a transfer (out_biz_no) is the withdrawal's id: the same request finds the same transfer. After code
// 20000, SYSTEM_ERROR or no answer, the documents ask to query first and to repeat the same request only if there is
// no transfer. So each error is unclear here, and only the state of a transfer ends a withdrawal.
package alipay

import (
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"redrain/internal/rsakeys"
	"redrain/internal/signed"
	"redrain/payout/ledger"
	"redrain/payout/withdraw"
	"redrain/rain"
)

// Options are the settings of a Provider. All are required, unless stated otherwise.
type Options struct {
	Endpoint  string // the gateway: https, or http on this machine
	AppID     string
	Key       *rsa.PrivateKey // the application's
	PublicKey *rsa.PublicKey  // Alipay's
	NotifyURL string          // where notifications come in; "" = only at the application's gateway address
	Title     string          // of the transfer, as the player reads it
	Clock     rain.Clock
	TLS       *tls.Config // for tests; nil = the system's authorities
}

// Provider makes transfers of one application. It implements withdraw.Provider, withdraw.Asker and withdraw.Notified.
type Provider struct {
	o    Options
	http *http.Client
}

// New makes a provider. It sends nothing.
func New(o Options) (*Provider, error) {
	if err := signed.CheckURL(o.Endpoint); err != nil {
		return nil, err
	}
	return &Provider{o: o, http: signed.NewHTTP(0, maxAnswer, o.TLS)}, nil
}

// Receiver implements withdraw.Provider.
func (p *Provider) Receiver() withdraw.Receiver {
	return withdraw.Receiver{Provider: "alipay", Address: p.o.Endpoint, Account: p.o.AppID}
}

// Close closes idle connections.
func (p *Provider) Close() { p.http.CloseIdleConnections() }

// The methods, and the product of both.
const (
	methodTransfer = "alipay.fund.trans.uni.transfer"
	methodQuery    = "alipay.fund.trans.common.query"
	product, scene = "TRANS_ACCOUNT_NO_PWD", "DIRECT_TRANSFER"
)

// transfer is the content of the request that makes a transfer. It is the same at every try.
type transfer struct {
	Number  string `json:"out_biz_no"`
	Amount  string `json:"trans_amount"` // yuan
	Product string `json:"product_code"`
	Scene   string `json:"biz_scene"`
	Title   string `json:"order_title"`
	Payee   payee  `json:"payee_info"`
}

type payee struct {
	Identity string `json:"identity"`
	Type     string `json:"identity_type"`
}

// userID matches the ids of Alipay's users. Newer applications get an open id instead.
var userID = regexp.MustCompile(`^2088\d{12}$`)

func payeeOf(account string) payee {
	if userID.MatchString(account) {
		return payee{account, "ALIPAY_USER_ID"}
	}
	return payee{account, "ALIPAY_OPEN_ID"}
}

// query is the content of the request that asks for a transfer.
type query struct {
	Number  string `json:"out_biz_no"`
	Product string `json:"product_code"`
	Scene   string `json:"biz_scene"`
}

// answer is the signed part of an answer.
type answer struct {
	Code    string `json:"code"`
	SubCode string `json:"sub_code"`
	Number  string `json:"out_biz_no"`
	Theirs  string `json:"order_id"`
	Status  string `json:"status"`
	Amount  string `json:"trans_amount"` // of a query, yuan
	Error   string `json:"error_code"`   // of a failed transfer
}

var numberPattern = regexp.MustCompile(`^[0-9A-Za-z]{1,32}$`)

// Pay implements withdraw.Provider: it makes the transfer, or finds it under its number.
func (p *Provider) Pay(ctx context.Context, pay withdraw.Payment) (a withdraw.Answer, err error) {
	account, ours := strings.CutPrefix(pay.Payee, ledger.AlipayPayees+":")
	switch {
	case !ours:
		return a, errors.New("the withdrawal has no payee at Alipay; return it to the player")
	case !numberPattern.MatchString(pay.Key):
		return a, errors.New("the withdrawal's id is not 1 to 32 letters and digits")
	}
	said, err := p.call(ctx, methodTransfer, transfer{Number: pay.Key, Amount: pay.Amount.String(), Product: product,
		Scene: scene, Title: p.o.Title, Payee: payeeOf(account)})
	if err != nil {
		return a, err
	}
	reason, refused := reasons[said.SubCode]
	switch {
	case said.Code == codeFailed && refused: // no transfer was made, and none can be
		return withdraw.Answer{Status: withdraw.Refused, Reason: reason}, nil
	case said.Code != codeSuccess:
		return a, unclear(said)
	}
	return said.read(pay)
}

// codeFailed is the code of a request that was not carried out, for the reason in SubCode.
const codeFailed = "40004"

// codeSuccess is the code of an answer about a transfer. Its state is in Status.
const codeSuccess = "10000"

// Ask implements withdraw.Asker.
func (p *Provider) Ask(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
	said, err := p.call(ctx, methodQuery, query{Number: pay.Key, Product: product, Scene: scene})
	switch {
	case err != nil:
		return withdraw.Answer{}, err
	case said.Code == codeFailed && said.SubCode == "ORDER_NOT_EXIST":
		return withdraw.Answer{Status: withdraw.Unknown}, nil
	case said.Code != codeSuccess:
		return withdraw.Answer{}, unclear(said)
	}
	return said.read(pay)
}

// read returns the meaning of a transfer's state. An unknown state is unclear, and so is REFUND, which transfers to
// accounts do not have.
func (s answer) read(pay withdraw.Payment) (a withdraw.Answer, err error) {
	if s.Number != pay.Key || s.Amount != "" && s.Amount != pay.Amount.String() {
		return a, fmt.Errorf("the answer is about another transfer than %s", pay.Key)
	}
	a = withdraw.Answer{Reference: s.Theirs}
	switch s.Status {
	case "SUCCESS":
		a.Status = withdraw.Paid
	case "FAIL", "CLOSED":
		a.Status, a.Reason = withdraw.Refused, cmp.Or(reasons[s.Error], s.Error)
	case "WAIT_PAY", "DEALING", "INIT":
		a.Status = withdraw.Pending
	default:
		return withdraw.Answer{}, fmt.Errorf("the transfer is in the unknown state %q", s.Status)
	}
	return a, nil
}

// reasons has players' texts for failures of their account. No repetition can change them. The others are shown as
// Alipay names them.
var reasons = map[string]string{
	"PAYEE_NOT_EXIST":                "the Alipay account does not exist",
	"PAYEE_ACC_OCUPIED":              "the Alipay account cannot be identified",
	"PAYEE_ACCOUNT_STATUS_ERROR":     "the Alipay account cannot receive money",
	"PAYEE_USERINFO_STATUS_ERROR":    "the Alipay account cannot receive money",
	"RELEASE_USER_FORBBIDEN_RECIEVE": "the Alipay account cannot receive money",
}

// maxAnswer is the size limit of an answer, in bytes.
const maxAnswer = 64 << 10

// call sends a signed request and returns the part of the answer that Alipay has signed.
func (p *Provider) call(ctx context.Context, method string, content any) (a answer, err error) {
	body, err := p.form(method, content, time.UnixMilli(p.o.Clock()))
	if err != nil {
		return a, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.o.Endpoint, strings.NewReader(body.Encode()))
	if err != nil {
		return a, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded;charset=utf-8")
	req.Header.Set("User-Agent", "redrain")
	said, err := signed.Do(p.http, req, maxAnswer)
	if err != nil {
		return a, err
	}
	if said.Status == http.StatusTooManyRequests { // a forged one costs time only
		return a, &withdraw.LaterError{After: max(said.RetryAfter(time.UnixMilli(p.o.Clock())), busyFor),
			Err: fmt.Errorf("Alipay answers status %d", said.Status)} //nolint:staticcheck // a name
	}
	text, err := p.verified(strings.ReplaceAll(method, ".", "_")+"_response", said.Body)
	if err != nil {
		_ = json.Unmarshal(text, &a) // its codes help operators, and decide nothing
		return a, fmt.Errorf("the answer with status %d: %w; %w", said.Status, err, unclear(a))
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, errors.New("the answer is not JSON")
	}
	if tooOften[a.SubCode] {
		return a, &withdraw.LaterError{After: busyFor, Err: unclear(a)}
	}
	return a, nil
}

// busyFor is the delay of a payment that Alipay has refused because of too many requests.
const busyFor = 5 * time.Second

// tooOften has the sub codes of too many requests.
var tooOften = map[string]bool{"isv.app-call-limited": true, "isp.call-limited": true, "isv.invoke-limited": true,
	"EXCEED_LIMIT_FREQUENCY": true}

var errUnsigned = errors.New("it is not signed by Alipay")

// verified returns the signed text under a name of an answer, exactly as it was sent; also with errUnsigned.
func (p *Provider) verified(name string, body []byte) ([]byte, error) {
	var parts map[string]json.RawMessage
	if json.Unmarshal(body, &parts) != nil {
		return nil, errors.New("it is not JSON")
	}
	var signature string
	text := parts[name]
	if text == nil || json.Unmarshal(parts["sign"], &signature) != nil ||
		rsakeys.Verify(p.o.PublicKey, string(text), signature) != nil {
		return text, errUnsigned
	}
	return text, nil
}

// codePattern matches codes. Other texts of an answer may name people, so they are not repeated.
var codePattern = regexp.MustCompile(`^[\w.-]{0,64}$`)

// hints give operators the meaning of a sub code, by the documents. None of them ends a withdrawal.
var hints = map[string]string{
	"SYSTEM_ERROR":               "an error at Alipay; the transfer is asked for, and the same request is sent again",
	"PAYER_BALANCE_NOT_ENOUGH":   "the merchant's account has too little money: charge it",
	"BALANCE_IS_NOT_ENOUGH":      "the merchant's account has too little money: charge it",
	"EXCEED_LIMIT_SM_MIN_AMOUNT": "the amount is too small: set a larger --withdraw-min",
	"PERMIT_CHECK_PERM_LIMITED":  "the application may not use transfers: see the open platform's console",
	"isv.invalid-signature":      "the signature is wrong: check --alipay-key-file against the console",
	"DUPLICATE_ORDER":            "the number exists with other parameters: was a setting changed since the first try?",
}

func unclear(a answer) error {
	code := a.SubCode
	if !codePattern.MatchString(code) {
		code = ""
	}
	text := fmt.Sprintf("Alipay answers code %.10q, sub code %q", a.Code, code)
	if hint := hints[code]; hint != "" {
		text += ": " + hint
	}
	return errors.New(text)
}

// AnswerNotification implements withdraw.Notified.
func (*Provider) AnswerNotification(w http.ResponseWriter, status int) {
	body := "success"
	if status != http.StatusOK {
		body = "fail"
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // if this fails, it is sent again
}

// ReadNotification implements withdraw.Notified. A notification is a form whose parameters are signed.
func (p *Provider) ReadNotification(_ http.Header, body []byte) (key string, err error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", errors.New("the notification is no form")
	}
	signature := form.Get("sign")
	form.Del("sign")
	if rsakeys.Verify(p.o.PublicKey, joined(form), signature) != nil {
		form.Del("sign_type") // some kinds of notifications are signed without it
		if rsakeys.Verify(p.o.PublicKey, joined(form), signature) != nil {
			return "", errUnsigned
		}
	}
	if form.Get("app_id") != p.o.AppID {
		return "", errors.New("the notification is for another application")
	}
	if form.Get("msg_method") != "alipay.fund.trans.order.changed" {
		return "", nil
	}
	var content struct {
		Number string `json:"out_biz_no"`
	}
	if err := json.Unmarshal([]byte(form.Get("biz_content")), &content); err != nil {
		return "", errors.New("the notification's content is not JSON")
	}
	return content.Number, nil
}
