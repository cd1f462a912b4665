package alipay_test

import (
	"crypto/rand"
	"crypto/rsa"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/rsakeys"
	sandbox "redrain/internal/sandbox/alipay"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/payout/withdraw"
	"redrain/payout/withdraw/alipay"
	"redrain/payout/withdraw/providertest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const app = "2021000000000000"

// The keys of all tests: it takes a second to make one.
var appKey, alipayKey = sync.OnceValue(newKey), sync.OnceValue(newKey)

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

// box is a sandbox with the options of a provider for it.
type box struct {
	*sandbox.Server

	breaker *providertest.Breaker
	o       alipay.Options
}

func open(t *testing.T, clock func() int64) *box {
	t.Helper()
	b := &box{Server: sandbox.New(sandbox.Options{AppID: app, Application: &appKey().PublicKey, Key: alipayKey(),
		Clock: clock})}
	b.breaker = &providertest.Breaker{Next: b.Server}
	s := httptest.NewUnstartedServer(b.breaker)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // connections are cut on purpose
	s.Start()
	t.Cleanup(s.Close)
	b.o = alipay.Options{Endpoint: s.URL + "/gateway.do", AppID: app, Key: appKey(), PublicKey: &alipayKey().PublicKey,
		NotifyURL: "https://rain.example/n", Title: "红包提现", Clock: clock}
	return b
}

// now is the time of the payments.
func now() int64 { return providertest.PaymentsAt }

func (b *box) provider(t *testing.T) *alipay.Provider {
	t.Helper()
	p, err := alipay.New(b.o)
	testenv.Must(t, err)
	t.Cleanup(p.Close)
	return p
}

func payment(key string) withdraw.Payment {
	return withdraw.Payment{Key: key, User: "ann", Payee: "alipay:o-ann", Amount: 250,
		CreatedAt: providertest.PaymentsAt}
}

// sandbox describes the box for the checks of every provider.
func (b *box) sandbox(t *testing.T) providertest.Sandbox {
	t.Helper()
	return providertest.Sandbox{
		New: func() withdraw.Provider { return b.provider(t) },
		Made: func() (list []providertest.Made) {
			for _, made := range b.Transfers() {
				for range made.Made {
					list = append(list, providertest.Made{Key: made.Number, Amount: 250,
						User: strings.TrimPrefix(made.Payee, "o-")})
				}
				if made.Amount != "2.50" {
					t.Errorf("a transfer of %s", made.Amount)
				}
			}
			return list
		},
		Go: b.Proceed, Payee: func(user string) string { return "alipay:o-" + user }, PayeeKind: ledger.AlipayPayees,
		Claim:   func(user string) map[string]string { return map[string]string{"alipay": "o-" + user} },
		Refused: "x" + sandbox.Closed, Breaker: b.breaker, Secrets: []string{"o-ann", "o-x"},
		Notifications: func() (list []providertest.Notification) {
			for _, form := range b.Notifications() {
				list = append(list, providertest.Notification{Header: http.Header{}, Body: []byte(form)})
			}
			return list
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(t *testing.T) providertest.Sandbox {
		t.Helper()
		return open(t, now).sandbox(t)
	})
}

// TestTroubles pays through a payer while the receiver, the network and the clocks have troubles.
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
	more := []providertest.Trouble{
		{Name: "the clock is off for a while",
			Begin: func(s providertest.Sandbox) { at(s).SkewClock(20 * time.Minute) },
			Round: later(func(b *box) { b.SkewClock(0) })},
		{Name: "the merchant has no money for a while",
			Begin: func(s providertest.Sandbox) { at(s).Charge(0) },
			Round: later(func(b *box) { b.Charge(1000) })},
	}
	for _, code := range []string{"SYSTEM_ERROR", "SYSTEM_BUSY", "A_NEW_CODE", "PERMIT_CHECK_PERM_LIMITED"} {
		more = append(more, providertest.Trouble{Name: code,
			Begin: func(s providertest.Sandbox) { at(s).FailNext(code, 3) }})
	}
	providertest.RunTroubles(t, func(t *testing.T, books *paytest.Books) providertest.Sandbox {
		t.Helper()
		b := open(t, books.Clock.Load)
		boxes.Store(b.breaker, b)
		return b.sandbox(t)
	}, more...)
}

// TestAnswers: the states of a transfer, and answers that decide nothing: about others, unsigned, in an unknown state.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]withdraw.Status{
		`{"code":"10000","out_biz_no":"w1","status":"SUCCESS"}`:                         withdraw.Paid,
		`{"code":"10000","out_biz_no":"w1","status":"SUCCESS","trans_amount":"2.50"}`:   withdraw.Paid,
		`{"code":"10000","out_biz_no":"w1","status":"FAIL"}`:                            withdraw.Refused,
		`{"code":"10000","out_biz_no":"w1","status":"CLOSED"}`:                          withdraw.Refused,
		`{"code":"10000","out_biz_no":"w1","status":"DEALING"}`:                         withdraw.Pending,
		`{"code":"10000","out_biz_no":"w1","status":"WAIT_PAY"}`:                        withdraw.Pending,
		`{"code":"10000","out_biz_no":"w1","status":"REFUND"}`:                          0,
		`{"code":"10000","out_biz_no":"w1","status":"BLOOM"}`:                           0,
		`{"code":"10000","out_biz_no":"w2","status":"SUCCESS"}`:                         0,
		`{"code":"10000","out_biz_no":"w1","status":"SUCCESS","trans_amount":"250.00"}`: 0,
		`{"code":"20000","out_biz_no":"w1","status":"SUCCESS"}`:                         0,
		`{"code":"40004","sub_code":"ORDER_NOT_EXIST"}`:                                 withdraw.Unknown,
		`{"code":"40004","sub_code":"SYSTEM_ERROR"}`:                                    0,
		`{"code":"40006","sub_code":"ORDER_NOT_EXIST"}`:                                 0,
	} {
		for _, isSigned := range []bool{true, false} {
			signature := ""
			if isSigned {
				signature = testenv.Got(sign(body)).Must(t)
			}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"alipay_fund_trans_common_query_response":`+body+`,"sign":"`+signature+`"}`)
			}))
			b := &box{o: alipay.Options{Endpoint: s.URL, AppID: app, Key: appKey(), PublicKey: &alipayKey().PublicKey,
				Clock: now}}
			answer, err := b.provider(t).Ask(t.Context(), payment("w1"))
			s.Close()
			if expected := want; !isSigned && (answer.Status != 0 || err == nil) || isSigned &&
				(answer.Status != expected || (err != nil) != (expected == 0)) {
				t.Errorf("signed %v, %s: %+v, %v", isSigned, body, answer, err)
			}
		}
	}
}

// TestRefusals: only an error of the player's own account ends a withdrawal.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]withdraw.Status{"PAYEE_NOT_EXIST": withdraw.Refused,
		"PAYER_BALANCE_NOT_ENOUGH": 0, "SYSTEM_ERROR": 0, "SYSTEM_BUSY": 0, "DUPLICATE_ORDER": 0, "A_NEW_CODE": 0,
		"isv.app-call-limited": 0} {
		b := open(t, now)
		b.FailNext(code, 1)
		answer, err := b.provider(t).Pay(t.Context(), payment("w1"))
		if answer.Status != want || (err != nil) != (want == 0) {
			t.Errorf("%s: %+v, %v", code, answer, err)
		}
	}
}

// sign returns Alipay's signature of a text.
func sign(text string) (string, error) { return rsakeys.Sign(alipayKey(), text) }
