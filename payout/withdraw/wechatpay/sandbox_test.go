package wechatpay_test

import (
	"crypto/rand"
	"crypto/rsa"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/sandbox/wechat"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/payout/withdraw"
	"redrain/payout/withdraw/providertest"
	"redrain/payout/withdraw/wechatpay"
	"redrain/rain"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	mch, app, scene = "1900000109", "wxd678efh567hg6787", "1000"
	keySerial       = "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"
	apiv3Key        = "0123456789abcdef0123456789ABCDEF"
	payeePrefix     = "wechat:" + app + ":o-"
)

// The keys of all tests: it takes a second to make one.
var merchantKey, platformKey, nextKey = sync.OnceValue(newKey), sync.OnceValue(newKey), sync.OnceValue(newKey)

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

// box is a sandbox with a provider for it. Both have the clock now, unless another one is given.
type box struct {
	*wechat.Server

	now     atomic.Int64 // Unix ms
	breaker *providertest.Breaker
	o       wechatpay.Options
}

func open(t *testing.T) *box {
	t.Helper()
	b := &box{}
	b.now.Store(providertest.PaymentsAt + time.Minute.Milliseconds())
	b.openAt(t, b.now.Load)
	return b
}

func (b *box) openAt(t *testing.T, clock func() int64) {
	t.Helper()
	b.Server = wechat.New(wechat.Options{MchID: mch, AppID: app, SceneID: scene, APIv3Key: apiv3Key,
		Merchant: map[string]*rsa.PublicKey{keySerial: &merchantKey().PublicKey},
		KeyID:    "PUB_KEY_ID_1", Key: platformKey(), Clock: clock})
	b.breaker = &providertest.Breaker{Next: b.Server}
	s := httptest.NewUnstartedServer(b.breaker)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // connections are cut on purpose
	s.Start()
	t.Cleanup(s.Close)
	b.o = wechatpay.Options{Endpoint: s.URL, MchID: mch, AppID: app, Key: merchantKey(), KeySerial: keySerial,
		APIv3Key: func() string { return apiv3Key }, SceneID: scene, Remark: "红包雨", Clock: clock,
		NotifyURL:  "https://rain.example/api/v1/providers/wechat/notifications",
		PublicKeys: []wechatpay.PublicKey{{ID: "PUB_KEY_ID_1", Key: &platformKey().PublicKey}}}
}

func (b *box) provider(t *testing.T) *wechatpay.Provider {
	t.Helper()
	p, err := wechatpay.New(b.o)
	testenv.Must(t, err)
	t.Cleanup(p.Close)
	return p
}

func payment(key string) withdraw.Payment {
	return withdraw.Payment{Key: key, User: "ann", Payee: payeePrefix + "ann", Amount: 250,
		CreatedAt: providertest.PaymentsAt}
}

// sandbox describes the box for the checks of every provider.
func (b *box) sandbox(t *testing.T) providertest.Sandbox {
	t.Helper()
	return providertest.Sandbox{
		New: func() withdraw.Provider { return b.provider(t) },
		Made: func() (list []providertest.Made) {
			for _, bill := range b.Transfers() {
				for range bill.Made {
					list = append(list, providertest.Made{Key: bill.Number, Amount: rain.Money(bill.Amount),
						User: strings.TrimPrefix(bill.OpenID, "o-")})
				}
			}
			return list
		},
		Go: b.Proceed, Confirm: b.Confirm,
		Expire: func(string) {
			b.now.Add((25 * time.Hour).Milliseconds())
			b.Proceed()
		},
		Payee: func(user string) string { return payeePrefix + user }, PayeeKind: ledger.WeChatPayees(app),
		Claim:   func(user string) map[string]string { return map[string]string{"wechat": app + ":o-" + user} },
		Refused: "x" + wechat.Closed, Breaker: b.breaker, Secrets: []string{apiv3Key, "o-ann", "o-x"},
		Notifications: func() (list []providertest.Notification) {
			for _, r := range b.Notifications() {
				body := testenv.Got(io.ReadAll(r.Body)).Must(t)
				list = append(list, providertest.Notification{Header: r.Header, Body: body})
			}
			return list
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(t *testing.T) providertest.Sandbox {
		t.Helper()
		return open(t).sandbox(t)
	})
}

// TestTroubles pays through a payer while the receiver, the network, the keys and the clocks have troubles.
func TestTroubles(t *testing.T) {
	t.Parallel()
	boxes := sync.Map{} // by their breakers
	at := func(s providertest.Sandbox) *box {
		b, _ := boxes.Load(s.Breaker)
		return b.(*box)
	}
	later := func(do func(b *box)) func(providertest.Sandbox, int) {
		return func(s providertest.Sandbox, n int) {
			if n == 2 {
				do(at(s))
			}
		}
	}
	providertest.RunTroubles(t, func(t *testing.T, books *paytest.Books) providertest.Sandbox {
		t.Helper()
		b := &box{}
		b.openAt(t, books.Clock.Load)
		b.o.PublicKeys = append(b.o.PublicKeys, wechatpay.PublicKey{ID: "PUB_KEY_ID_2", Key: &nextKey().PublicKey})
		boxes.Store(b.breaker, b)
		return b.sandbox(t)
	},
		providertest.Trouble{Name: "the key rotates",
			Round: later(func(b *box) { b.Rotate("PUB_KEY_ID_2", nextKey()) })},
		providertest.Trouble{Name: "the clock is off for a while",
			Begin: func(s providertest.Sandbox) { at(s).SkewClock(10 * time.Minute) },
			Round: later(func(b *box) { b.SkewClock(0) })},
		providertest.Trouble{Name: "the merchant has no money for a while",
			Begin: func(s providertest.Sandbox) { at(s).Charge(0) },
			Round: later(func(b *box) { b.Charge(1000) })},
		providertest.Trouble{Name: "too many requests",
			Begin: func(s providertest.Sandbox) { at(s).FailNext(429, "FREQUENCY_LIMITED", 3) }},
		providertest.Trouble{Name: "a new error code",
			Begin: func(s providertest.Sandbox) { at(s).FailNext(400, "A_NEW_CODE", 3) }},
	)
}

// TestErrorsEndNoWithdrawal: after each error code of the documents, and after unknown ones, nothing is certain. The
// next try asks, and the transfer is made once.
func TestErrorsEndNoWithdrawal(t *testing.T) {
	t.Parallel()
	for code, status := range map[string]int{"PARAM_ERROR": 400, "INVALID_REQUEST": 400, "ALREADY_EXISTS": 400,
		"SIGN_ERROR": 401, "NO_AUTH": 403, "NOT_ENOUGH": 403, "NOT_FOUND": 404,
		"RESOURCE_NOT_EXISTS": 404, "FREQUENCY_LIMITED": 429,
		"FREQUENCY_LIMIT_EXCEED": 403, "RATELIMIT_EXCEEDED": 429, "SYSTEM_ERROR": 500, "A_NEW_CODE": 400} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			p := b.provider(t)
			b.FailNext(status, code, 1)
			answer, err := p.Pay(t.Context(), payment("w1"))
			if err == nil || !strings.Contains(err.Error(), code) || strings.Contains(err.Error(), "o-ann") {
				t.Errorf("pay: %+v, %v", answer, err)
			}
			testenv.Equal(t, len(b.Transfers()), 0, "transfers")
			b.FailNext(status, code, 1)
			answer, err = p.Ask(t.Context(), payment("w1"))
			unknown := answer.Status == withdraw.Unknown
			if unknown != (code == "NOT_FOUND") || unknown == (err != nil) {
				t.Errorf("ask: %+v, %v", answer, err)
			}
			testenv.Equal(t, testenv.Got(p.Pay(t.Context(), payment("w1"))).Must(t).Status, withdraw.ActionRequired,
				"status")
		})
	}
}

// TestActionOfATransfer has the parameters for the page, until a day later. A query does not repeat it, and the same
// order does.
func TestActionOfATransfer(t *testing.T) {
	t.Parallel()
	b := open(t)
	p := b.provider(t)
	first := testenv.Got(p.Pay(t.Context(), payment("w1"))).Must(t)
	want := `{"app_id":"` + app + `","mch_id":"` + mch + `","package":"` + b.Transfers()[0].Package + `"}`
	testenv.Equal(t, first.Action, ledger.Action{Kind: "wechat", Data: want,
		Until: b.now.Load() + (24 * time.Hour).Milliseconds()}, "action")
	asked := testenv.Got(p.Ask(t.Context(), payment("w1"))).Must(t)
	testenv.Equal(t, asked.LacksAction(ledger.Action{}), true, "the query lacks the action")
	testenv.Equal(t, asked.LacksAction(first.Action), false, "the ledger has it")
	testenv.Equal(t, testenv.Got(p.Pay(t.Context(), payment("w1"))).Must(t).Action, first.Action, "action")
	testenv.Equal(t, len(b.Transfers()), 1, "transfers")
}

// TestOldPaymentsNeedAPerson: neither a question nor an order is sent about a payment of a month ago.
func TestOldPaymentsNeedAPerson(t *testing.T) {
	t.Parallel()
	b := open(t)
	p := b.provider(t)
	testenv.Must(t, testenv.Err(p.Pay(t.Context(), payment("w1"))))
	b.now.Add((30 * 24 * time.Hour).Milliseconds())
	for _, key := range []string{"w1", "w2"} {
		testenv.WantFail(t, testenv.Err(p.Ask(t.Context(), payment(key))), "ask for an old payment")
		testenv.WantFail(t, testenv.Err(p.Pay(t.Context(), payment(key))), "pay an old payment")
	}
	testenv.Equal(t, len(b.Transfers()), 1, "transfers")
}

// TestPaymentsWithoutAPayee of this app, or with another form of number, are never sent.
func TestPaymentsWithoutAPayee(t *testing.T) {
	t.Parallel()
	b := open(t)
	p := b.provider(t)
	for _, spoil := range []func(pay *withdraw.Payment){
		func(pay *withdraw.Payment) { pay.Payee = "" },
		func(pay *withdraw.Payment) { pay.Payee = "wechat:another:o-ann" },
		func(pay *withdraw.Payment) { pay.Key = "w-1" },
		func(pay *withdraw.Payment) { pay.Key = strings.Repeat("w", 33) },
	} {
		pay := payment("w1")
		spoil(&pay)
		testenv.WantFail(t, testenv.Err(p.Pay(t.Context(), pay)), "pay")
	}
	testenv.Equal(t, len(b.Transfers()), 0, "transfers")
}

// TestKeysRotate: with both keys every answer counts. With the old one alone none does, and nothing is certain.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	b := open(t)
	old := b.provider(t)
	b.o.PublicKeys = append(b.o.PublicKeys, wechatpay.PublicKey{ID: "PUB_KEY_ID_2", Key: &nextKey().PublicKey})
	both := b.provider(t)
	testenv.Must(t, testenv.Err(both.Pay(t.Context(), payment("w1"))))
	b.Rotate("PUB_KEY_ID_2", nextKey())
	testenv.WantFail(t, testenv.Err(old.Ask(t.Context(), payment("w1"))), "an unknown key")
	b.Confirm("w1")
	b.Proceed()
	testenv.Equal(t, testenv.Got(both.Ask(t.Context(), payment("w1"))).Must(t).Status, withdraw.Paid, "status")
	testenv.Equal(t, both.Receiver(), old.Receiver(), "receiver")
}

// TestClockIsOff: neither side accepts the other's signature, and nothing is certain.
func TestClockIsOff(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		b := open(t)
		p := b.provider(t)
		b.SkewClock(off)
		testenv.WantFail(t, testenv.Err(p.Pay(t.Context(), payment("w1"))), "pay")
		testenv.WantFail(t, testenv.Err(p.Ask(t.Context(), payment("w1"))), "ask")
		testenv.Equal(t, len(b.Transfers()), 0, "transfers")
		b.SkewClock(0)
		testenv.Must(t, testenv.Err(p.Pay(t.Context(), payment("w1"))))
	}
}

// TestNotifications: an authentic one names its payment, however often it comes. No other is accepted.
func TestNotifications(t *testing.T) {
	t.Parallel()
	b := open(t)
	p := b.provider(t)
	for _, key := range []string{"w1", "w2"} {
		testenv.Must(t, testenv.Err(p.Pay(t.Context(), payment(key))))
		b.Confirm(key)
	}
	b.Proceed()
	var headers []http.Header
	var bodies []string
	for _, r := range b.Notifications() {
		headers, bodies = append(headers, r.Header), append(bodies, string(testenv.Got(io.ReadAll(r.Body)).Must(t)))
	}
	for range 2 {
		for i, want := range []string{"w1", "w2"} {
			testenv.Got(p.ReadNotification(headers[i], []byte(bodies[i]))).Want(t, want, "key")
		}
	}
	testenv.WantFail(t, testenv.Err(p.ReadNotification(headers[0], []byte(bodies[1]))), "for another order")
	testenv.WantFail(t, testenv.Err(p.ReadNotification(http.Header{}, []byte(bodies[0]))), "without a signature")
	changed := strings.Replace(bodies[0], "EV-", "EX-", 1)
	testenv.WantFail(t, testenv.Err(p.ReadNotification(headers[0], []byte(changed))), "changed")
	b.o.APIv3Key = func() string { return strings.Repeat("x", 32) }
	testenv.WantFail(t, testenv.Err(b.provider(t).ReadNotification(headers[0], []byte(bodies[0]))), "another key")
	stranger := headers[0].Clone()
	stranger.Set("Wechatpay-Serial", "PUB_KEY_ID_9")
	testenv.WantFail(t, testenv.Err(p.ReadNotification(stranger, []byte(bodies[0]))), "of an unknown key")
	b.now.Add((6 * time.Minute).Milliseconds())
	testenv.WantFail(t, testenv.Err(p.ReadNotification(headers[0], []byte(bodies[0]))), "six minutes old")
}
