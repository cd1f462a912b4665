package api

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"redrain/client/openapi"
	"redrain/internal/testenv"
	"redrain/payout/withdraw"
)

// bank is a provider whose notifications are the keys of their payments.
type bank struct{}

func (bank) Receiver() withdraw.Receiver { return withdraw.Receiver{Provider: "bank"} }

func (bank) ReadNotification(header http.Header, body []byte) (string, error) {
	if header.Get("Signature") != "good" {
		return "", errors.New("forged")
	}
	return string(body), nil
}

func (bank) AnswerNotification(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "the bank's form")
}

// TestNotifications: only the provider in use is listened to. An authentic notification makes its withdrawal due and
// wakes the payer. One about another system's order is accepted, so that it ends.
func TestNotifications(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, body, signature string
		status                int
		done                  string
	}{
		"authentic":         {"wechat", "w1", "good", 200, "recheck w1 of bank"},
		"forged":            {"wechat", "w1", "bad", 401, ""},
		"about nothing":     {"wechat", "", "good", 200, ""},
		"of another system": {"wechat", "stranger", "good", 200, ""},
		"in an outage":      {"wechat", "away", "good", 503, ""},
		"of no provider":    {"alipay", "w1", "good", 404, ""},
		"too long":          {"wechat", strings.Repeat("x", maxNotification+1), "good", 400, ""},
	} {
		d := &desk{}
		a := newAPI(Options{Withdrawals: d, Notified: bank{}, Payout: openapi.Payout{Provider: "wechat"},
			WakePayer: func() { d.woken++ }, Log: slog.New(slog.DiscardHandler)})
		w := ask(a, "", "POST", "/providers/"+c.path+"/notifications", c.body,
			func(r *http.Request) { r.Header.Set("Signature", c.signature) })
		testenv.Equal(t, w.Code, c.status, "%s: status", name)
		testenv.Equal(t, strings.Join(d.orders, "|"), c.done, "%s: done", name)
		if c.status != 404 && c.status != 400 && w.Body.String() != "the bank's form" {
			t.Errorf("%s: %s", name, w.Body)
		}
		testenv.Equal(t, d.woken > 0, c.done != "" || name == "about nothing", "%s: the payer is woken", name)
	}
}
