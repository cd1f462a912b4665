package providertest_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/withdraw"
	"redrain/payout/withdraw/providertest"
	"redrain/payout/withdraw/webhook"
	"redrain/payout/withdraw/webhook/webhooktest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestWallet(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(*testing.T) providertest.Sandbox {
		return providertest.Sandbox{New: func() withdraw.Provider { return withdraw.Wallet{} }}
	})
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(t *testing.T) providertest.Sandbox {
		t.Helper()
		receiver, users := webhooktest.New(), sync.Map{}
		receiver.Behave = func(r webhooktest.Request) webhooktest.Behaviour {
			users.Store(r.ID, r.User)
			if r.User == "closed" {
				return webhooktest.Refuse
			}
			return webhooktest.Pay
		}
		breaker := &providertest.Breaker{Next: receiver}
		url := serve(t, breaker).URL + "/payments?token=hunter2"
		return providertest.Sandbox{
			New: func() withdraw.Provider {
				p, err := webhook.New(webhook.Options{URL: url, Secret: webhooktest.Secret,
					Clock: func() int64 { return time.Now().UnixMilli() }})
				testenv.Must(t, err)
				t.Cleanup(p.Close)
				return p
			},
			Made: func() (list []providertest.Made) {
				for key, amount := range receiver.Paid() {
					user, _ := users.Load(key)
					list = append(list, providertest.Made{Key: key, User: user.(string), Amount: amount})
				}
				return list
			},
			Refused: "closed", Breaker: breaker, Secrets: []string{webhooktest.Secret, "hunter2"},
		}
	})
}

func TestWechatLike(t *testing.T) {
	t.Parallel()
	providertest.Run(t, openWechat)
}

// broken is a valid provider with one added fault.
type broken struct {
	withdraw.Provider

	pay func(ctx context.Context, p withdraw.Payment) (withdraw.Answer, error)
}

func (b broken) Pay(ctx context.Context, p withdraw.Payment) (withdraw.Answer, error) {
	return b.pay(ctx, p)
}

// TestWhatIsWrongIsFound: at least one check finds each mistake that costs money.
func TestWhatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(p withdraw.Provider) withdraw.Provider{
		"a key of its own for each try": func(p withdraw.Provider) withdraw.Provider {
			return broken{p, func(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
				pay.Key += "-" + time.Now().Format(time.RFC3339Nano)
				return p.Pay(ctx, pay)
			}}
		},
		"accepted is paid": func(p withdraw.Provider) withdraw.Provider {
			return broken{p, func(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
				a, err := p.Pay(ctx, pay)
				if a.Status == withdraw.Pending {
					a.Status = withdraw.Paid
				}
				return a, err
			}}
		},
		"an error is a refusal": func(p withdraw.Provider) withdraw.Provider {
			return broken{p, func(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
				a, err := p.Pay(ctx, pay)
				if err != nil {
					return withdraw.Answer{Status: withdraw.Refused}, nil //nolint:nilerr // that is the mistake
				}
				return a, nil
			}}
		},
		"waits for ever": func(p withdraw.Provider) withdraw.Provider {
			return broken{p, func(context.Context, withdraw.Payment) (withdraw.Answer, error) {
				return withdraw.Answer{Status: withdraw.Pending}, nil
			}}
		},
		"another name after each restart": func(p withdraw.Provider) withdraw.Provider {
			return renamed{p, time.Now().Format(time.RFC3339Nano)}
		},
		"its secret as its name": func(p withdraw.Provider) withdraw.Provider { return renamed{p, wechatKey} },
		"another amount": func(p withdraw.Provider) withdraw.Provider {
			return broken{p, func(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
				pay.Amount *= 100
				return p.Pay(ctx, pay)
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found []string
			for _, c := range providertest.Checks() {
				if c.Name == string(providertest.Hangs) {
					continue // it waits, and none of these mistakes is about waiting
				}
				box := openWechat(t)
				whole := box.New
				box.New = func() withdraw.Provider { return spoil(whole()) }
				if err := c.Run(t.Context(), box); err != nil {
					found = append(found, c.Name)
				}
			}
			if len(found) == 0 {
				t.Error("no check finds it")
			}
			t.Log(strings.Join(found, ", "))
		})
	}
}

type renamed struct {
	withdraw.Provider

	account string
}

func (r renamed) Receiver() withdraw.Receiver {
	return withdraw.Receiver{Provider: "x", Account: r.account}
}
