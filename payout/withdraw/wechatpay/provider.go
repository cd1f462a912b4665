package wechatpay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"redrain/internal/signed"
	"redrain/payout/ledger"
	"redrain/payout/withdraw"
	"redrain/rain"
)

// Endpoint is WeChat Pay's own address.
const Endpoint = "https://api.mch.weixin.qq.com"

// The limits of WeChat Pay.
const (
	// Rate is below the documented 100 requests a second of a merchant, for each of the two APIs.
	Rate = 90
	// PollRate leaves a part of Rate for new transfers.
	PollRate = 50
	// MostUnnamed is the largest transfer without the payee's real name, in fen.
	MostUnnamed rain.Money = 199_999
	// queryable is the time for which a transfer can be queried, less a day for differences.
	queryable = 29 * 24 * time.Hour
	// confirmable is the time in which the player can confirm a transfer.
	confirmable = 24 * time.Hour
)

// Info is one report about the scene of a transfer, as the scene requires it.
type Info struct {
	Type    string `json:"info_type"`
	Content string `json:"info_content"`
}

// PublicKey is a public key of WeChat Pay, or one of its platform certificates.
type PublicKey struct {
	ID  string // PUB_KEY_ID_…, or the certificate's serial number
	Key *rsa.PublicKey
}

// Options are the settings of a Provider. All are required, unless stated otherwise.
type Options struct {
	Endpoint  string // https, or http on this machine
	MchID     string // the merchant
	AppID     string // the app that openids belong to
	Key       *rsa.PrivateKey
	KeySerial string // of the merchant's certificate
	// APIv3Key returns the newest key that decrypts notifications, of 32 bytes.
	APIv3Key func() string
	// PublicKeys verify answers and notifications. Several are valid at once in a rotation. Answers are requested to
	// be signed by the first one.
	PublicKeys []PublicKey
	SceneID    string
	Scene      []Info // required by the scene; may be empty
	Remark     string // shown to the player, at most 32 characters
	NotifyURL  string // where notifications come in; "" = none
	Clock      rain.Clock
	TLS        *tls.Config // for tests; nil = the system's authorities
}

// Provider makes transfers of one merchant. It implements withdraw.Provider, withdraw.Asker and withdraw.Notified.
type Provider struct {
	o    Options
	http *http.Client
}

// New makes a provider. It sends nothing.
func New(o Options) (*Provider, error) {
	if err := signed.CheckURL(o.Endpoint); err != nil {
		return nil, err
	}
	if len(o.PublicKeys) == 0 {
		return nil, errors.New("no public key of WeChat Pay")
	}
	o.Endpoint = strings.TrimRight(o.Endpoint, "/")
	return &Provider{o: o, http: signed.NewHTTP(0, maxAnswer, o.TLS)}, nil
}

// Receiver implements withdraw.Provider. New keys are the same receiver: transfers belong to the merchant.
func (p *Provider) Receiver() withdraw.Receiver {
	return withdraw.Receiver{Provider: "wechat", Address: p.o.Endpoint, Account: p.o.MchID}
}

// Close closes idle connections.
func (p *Provider) Close() { p.http.CloseIdleConnections() }

// order is the body of the request that creates a transfer. It is the same at every try.
type order struct {
	AppID     string     `json:"appid"`
	Number    string     `json:"out_bill_no"`
	SceneID   string     `json:"transfer_scene_id"`
	OpenID    string     `json:"openid"`
	Amount    rain.Money `json:"transfer_amount"`
	Remark    string     `json:"transfer_remark"`
	NotifyURL string     `json:"notify_url,omitempty"`
	Scene     []Info     `json:"transfer_scene_report_infos,omitempty"`
}

// bill is a transfer in WeChat Pay's answers.
type bill struct {
	MchID   string      `json:"mch_id"`
	Number  string      `json:"out_bill_no"`
	Theirs  string      `json:"transfer_bill_no"`
	State   string      `json:"state"`
	Fail    string      `json:"fail_reason"`
	Package string      `json:"package_info"`
	OpenID  string      `json:"openid"`
	Amount  *rain.Money `json:"transfer_amount"`
	Created string      `json:"create_time"` // RFC 3339
}

const transfers = "/v3/fund-app/mch-transfer/transfer-bills"

var numberPattern = regexp.MustCompile(`^[0-9A-Za-z]{1,32}$`)

// Pay implements withdraw.Provider: it creates the transfer, or finds it under its number.
func (p *Provider) Pay(ctx context.Context, pay withdraw.Payment) (a withdraw.Answer, err error) {
	openid, ours := strings.CutPrefix(pay.Payee, ledger.WeChatPayees(p.o.AppID)+":")
	switch {
	case !ours:
		return a, errors.New("the withdrawal has no payee of the app " + p.o.AppID + "; return it to the player")
	case !numberPattern.MatchString(pay.Key):
		return a, errors.New("the withdrawal's id is not 1 to 32 letters and digits")
	}
	if err := p.checkAge(pay); err != nil {
		return a, err
	}
	body, err := json.Marshal(order{AppID: p.o.AppID, Number: pay.Key, SceneID: p.o.SceneID, OpenID: openid,
		Amount: pay.Amount, Remark: p.o.Remark, NotifyURL: p.o.NotifyURL, Scene: p.o.Scene})
	if err != nil {
		return a, err
	}
	said, err := p.call(ctx, http.MethodPost, transfers, body)
	if err != nil {
		return a, err
	}
	if said.Status != http.StatusOK {
		return a, unclear(said)
	}
	return p.read(said, pay)
}

// Ask implements withdraw.Asker. Only a signed NOT_FOUND means that there is no transfer: a wrong path is a 404, too.
func (p *Provider) Ask(ctx context.Context, pay withdraw.Payment) (a withdraw.Answer, err error) {
	if err := p.checkAge(pay); err != nil {
		return a, err
	}
	said, err := p.call(ctx, http.MethodGet, transfers+"/out-bill-no/"+url.PathEscape(pay.Key), nil)
	switch {
	case err != nil:
		return a, err
	case said.Status == http.StatusNotFound && codeOf(said) == "NOT_FOUND":
		return withdraw.Answer{Status: withdraw.Unknown}, nil
	case said.Status != http.StatusOK:
		return a, unclear(said)
	}
	return p.read(said, pay)
}

// checkAge refuses a payment that may have a transfer that can no longer be queried.
func (p *Provider) checkAge(pay withdraw.Payment) error {
	if age := time.Duration(p.o.Clock()-pay.CreatedAt) * time.Millisecond; age > queryable {
		return fmt.Errorf("the withdrawal is %d days old, and WeChat Pay answers for 30 days only: look it up in the "+
			"merchant's fund bill, then mark it as paid or return it", age/(24*time.Hour))
	}
	return nil
}

// read reads a transfer, which must be the payment's.
func (p *Provider) read(said signed.Answer, pay withdraw.Payment) (withdraw.Answer, error) {
	var b bill
	if err := json.Unmarshal(said.Body, &b); err != nil {
		return withdraw.Answer{}, errors.New("the answer is not JSON")
	}
	switch {
	case b.Number != pay.Key, b.MchID != "" && b.MchID != p.o.MchID, b.Amount != nil && *b.Amount != pay.Amount,
		b.OpenID != "" && ledger.WeChatPayees(p.o.AppID)+":"+b.OpenID != pay.Payee:
		return withdraw.Answer{}, fmt.Errorf("the answer is about another transfer than %s", pay.Key)
	}
	return p.answer(b)
}

// answer returns the meaning of a transfer's state. An unknown state is unclear.
func (p *Provider) answer(b bill) (a withdraw.Answer, err error) {
	a = withdraw.Answer{Reference: b.Theirs}
	switch b.State {
	case "SUCCESS":
		a.Status = withdraw.Paid
	case "FAIL", "CANCELLED":
		a.Status, a.Reason = withdraw.Refused, cmp.Or(reasons[b.Fail], b.Fail)
	case "WAIT_USER_CONFIRM":
		a.Status = withdraw.ActionRequired
		if b.Package != "" { // a query does not repeat it
			a.Action, err = p.action(b)
		}
	case "ACCEPTED", "PROCESSING", "TRANSFERING", "CANCELING":
		a.Status = withdraw.Pending
		if b.State == "PROCESSING" {
			a.Reason = "WeChat Pay works on it; if this lasts, check the merchant's balance"
		}
	default:
		return withdraw.Answer{}, fmt.Errorf("the transfer is in the unknown state %q", b.State)
	}
	return a, err
}

// reasons has players' texts for failures. The others are shown as WeChat Pay names them.
var reasons = map[string]string{
	"OVERDUE_CLOSE":          "it was not confirmed in WeChat within 24 hours",
	"MCH_CANCEL":             "the organizer has cancelled it",
	"REAL_NAME_CHECK_FAIL":   "your WeChat account needs your real name first",
	"PAYEE_ACCOUNT_ABNORMAL": "your WeChat account cannot receive money; complete your identity in WeChat Pay",
}

// action returns the parameters of requestMerchantTransfer: see
// https://developers.weixin.qq.com/miniprogram/dev/api/payment/wx.requestMerchantTransfer.html.
func (p *Provider) action(b bill) (ledger.Action, error) {
	data, err := json.Marshal(map[string]string{"mch_id": p.o.MchID, "app_id": p.o.AppID, "package": b.Package})
	a := ledger.Action{Kind: ledger.ActionWeChat, Data: string(data)}
	if at, parseErr := time.Parse(time.RFC3339, b.Created); parseErr == nil {
		a.Until = at.Add(confirmable).UnixMilli()
	}
	return a, err
}

// maxAnswer is the size limit of an answer, in bytes.
const maxAnswer = 64 << 10

// call sends a signed request, and returns an answer that WeChat Pay has signed.
func (p *Provider) call(ctx context.Context, method, path string, body []byte) (signed.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.o.Endpoint+path, bytes.NewReader(body))
	if err != nil {
		return signed.Answer{}, err
	}
	authorization, err := p.authorization(method, req.URL.RequestURI(), stampAt(p.o.Clock()), body)
	if err != nil {
		return signed.Answer{}, err
	}
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "redrain")
	req.Header.Set(headerSerial, p.o.PublicKeys[0].ID)
	said, err := signed.Do(p.http, req, maxAnswer)
	if err != nil {
		return said, err
	}
	if said.Status == http.StatusTooManyRequests || tooOften[codeOf(said)] { // a forged one costs time only
		return said, &withdraw.LaterError{After: max(said.RetryAfter(time.UnixMilli(p.o.Clock())), busyFor),
			Err: unclear(said)}
	}
	if err := p.verify(said.Header, said.Body); err != nil {
		return said, fmt.Errorf("the answer with status %d and code %q: %w", said.Status, codeOf(said), err)
	}
	return said, nil
}

// busyFor is the delay of a payment that WeChat Pay has refused because of too many requests.
const busyFor = 5 * time.Second

// tooOften has the error codes of too many requests.
var tooOften = map[string]bool{"FREQUENCY_LIMITED": true, "FREQUENCY_LIMIT_EXCEED": true, "RATELIMIT_EXCEEDED": true}

// codePattern matches error codes. Other texts of an answer may name people, so they are not repeated.
var codePattern = regexp.MustCompile(`^[A-Z_]{1,64}$`)

func codeOf(said signed.Answer) string {
	var e struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(said.Body, &e) != nil || !codePattern.MatchString(e.Code) {
		return ""
	}
	return e.Code
}

// hints give operators the meaning of an error code, by the documents. None of them ends a withdrawal.
var hints = map[string]string{
	"NOT_ENOUGH":      "the merchant's operating account has too little money: charge it",
	"NO_AUTH":         "the merchant may not use transfers, the scene or this app: see the merchant platform",
	"PARAM_ERROR":     "WeChat Pay does not accept a field: check the scene, its report, the remark and the app",
	"INVALID_REQUEST": "a rule of the merchant's product forbids it: check the limits of amounts and days",
	"SIGN_ERROR":      "the signature is wrong: check --wechat-key-file and --wechat-key-serial",
	"ALREADY_EXISTS":  "the number exists with other parameters: was a setting changed since the first try?",
	"SYSTEM_ERROR":    "an error at WeChat Pay; the same request is sent again",
}

func unclear(said signed.Answer) error {
	code := codeOf(said)
	text := fmt.Sprintf("WeChat Pay answers status %d, code %q", said.Status, code)
	if hint := hints[code]; hint != "" {
		text += ": " + hint
	}
	return errors.New(text)
}
