package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
)

func (d *desk) Hold(_ context.Context, id string, by ledger.Person) error {
	return d.ordered("hold", id, by, "")
}

func (d *desk) Release(_ context.Context, id string, by ledger.Person) error {
	return d.ordered("release", id, by, "")
}

func (d *desk) PendingOrders(_ context.Context, of ...ledger.Withdrawal) (map[string]ledger.Approval, error) {
	orders := map[string]ledger.Approval{}
	for _, w := range of {
		if w.Dead {
			orders[w.ID] = ledger.Approval{ID: "a7", Deed: ledger.Deed{Act: ledger.ActBack},
				Asked: ledger.Person{Name: "ann", Reason: "never paid"}, AskedAt: 5, ExpiresAt: 9}
		}
	}
	return orders, nil
}

func (d *desk) ordered(what, id string, by ledger.Person, reference string) error {
	if by.Name == "late" {
		return ledger.ErrAlreadySent
	}
	d.orders = append(d.orders, what+" "+id+" "+by.Name+" "+by.Reason+" "+reference)
	return nil
}

// TestPendingOrdersAreShown to operators and viewers, of one withdrawal and in lists, and to no player.
func TestPendingOrdersAreShown(t *testing.T) {
	t.Parallel()
	d, call := serving()
	dead := ledger.Withdrawal{ID: "w1", User: "ann", Amount: 30, State: ledger.WithdrawalSent, Dead: true}
	d.made["w1"] = dead
	const order = `"order":{"approval":"a7","what":"back","by":"ann","reason":"never paid","asked_at":5,"until":9}`
	for _, path := range []string{"/withdrawals/w1", "/withdrawals", "/users/ann/withdrawals"} {
		if w := call("GET", path, "viewer", "", ""); !strings.Contains(w.Body.String(), order) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/me/withdrawals/w1", "/me/withdrawals"} {
		if w := call("GET", path, "ann", "", ""); w.Code != 200 || strings.Contains(w.Body.String(), "order") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestOperatorsOrders: an order needs its operator, its withdrawal and a reason. The first of two people gets 202, and
// the player is notified of the end.
func TestOperatorsOrders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, token, body string
		status            int
		says, done        string
		told              bool
	}{
		"hold": {path: "/withdrawals/w1/hold", body: `{"reason":" odd "}`, status: 200,
			done: "hold w1 ann odd "},
		"release": {path: "/withdrawals/w1/release", body: `{"reason":"fine"}`, status: 200,
			done: "release w1 ann fine "},
		"with the shared token": {path: "/withdrawals/w1/hold", token: "operator", body: `{"reason":"odd"}`,
			status: 200,
			done:   "hold w1 operator odd "},
		"asked for": {path: "/withdrawals/w1/paid", body: `{"reason":"seen","reference":"r"}`, status: 202,
			says: `"approval":"a1","action":"withdrawal.paid"`, done: "withdrawal.paid w1 ann seen r"},
		"done": {path: "/withdrawals/w1/back", token: "bob the cashier", body: `{"reason":"never"}`,
			status: 200, done: "withdrawal.back w1 bob never ", told: true},
		"too late": {path: "/withdrawals/w1/hold", token: "late the cashier", body: `{"reason":"x"}`, status: 409,
			says: "withdrawal_sent"},
		"by another":  {path: "/withdrawals/w1/hold", body: `{"by":"bob","reason":"x"}`, status: 422, says: `"by"`},
		"for nothing": {path: "/withdrawals/w1/hold", body: `{"reason":" "}`, status: 422, says: `"reason"`},
		"too long": {path: "/withdrawals/w1/paid", body: `{"reason":"x","reference":"` +
			strings.Repeat("x", 201) + `"}`, status: 422, says: "reference"},
	} {
		d, call := serving()
		if c.token == "" {
			c.token = "ann the cashier"
		}
		w := call("POST", c.path, c.token, "", c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) || strings.Join(d.orders, "|") != c.done ||
			(len(d.ended) > 0) != c.told {
			t.Errorf("%s: %d %s; done %q, notified %q", name, w.Code, w.Body, d.orders, d.ended)
		}
	}
}

// TestWhatPlayersMayNot: each limit has its code, and the answer names the limit. The hourly limit has Retry-After.
func TestWhatPlayersMayNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit  ledger.LimitError
		status int
		code   string
		says   string
		after  string
	}{
		{ledger.LimitError{Limit: ledger.LimitLeast, Money: 1000}, 422, "withdrawal_too_small", "10.00", ""},
		{ledger.LimitError{Limit: ledger.LimitMost, Money: 1000}, 422, "withdrawal_too_large", "10.00", ""},
		{ledger.LimitError{Limit: ledger.LimitPayee, Money: 1000}, 409, "daily_limit", "one account", ""},
		{ledger.LimitError{Limit: ledger.LimitDay, Money: 20_000}, 409, "daily_limit", "200.00", ""},
		{ledger.LimitError{Limit: ledger.LimitHour, Count: 3, After: 90*time.Second + 1}, 429, "hourly_limit", "most 3",
			"91"},
		{ledger.LimitError{Limit: ledger.LimitGuests}, 403, "guests_cannot_withdraw", "sign in", ""},
	} {
		w := httptest.NewRecorder()
		fail(w, httptest.NewRequest(http.MethodPost, "/x", nil), slog.New(slog.DiscardHandler),
			fmt.Errorf("withdrawal w1: %w", &c.limit))
		body := w.Body.String()
		if w.Code != c.status || !strings.Contains(body, `"code":"`+c.code+`"`) || !strings.Contains(body, c.says) ||
			w.Header().Get("Retry-After") != c.after {
			t.Errorf("%+v: %d %s, Retry-After %q", c.limit, w.Code, body, w.Header().Get("Retry-After"))
		}
	}
}

// A dismissal needs a reason, and reports the result for its dead letters.
func TestDismissedLetters(t *testing.T) {
	for _, c := range map[string]struct {
		claim, body string
		status      int
		says        string
	}{
		"one": {"c1.7", `{"reason":"forged","letter":"12"}`, 200,
			`{"claim":"c1.7","dismissed":1,"reclaimed":12,"kept":["forged"]}`},
		"all of a claim": {"c1.8", `{"reason":"forged"}`, 200, `"dismissed":1,"reclaimed":0,"kept":[]`},
		"somebody's": {"c1.9", `{"reason":"forged"}`, 409,
			`"code":"not_dismissed","detail":"retry it; not yet"`},
		"unknown":          {"x", `{"reason":"forged"}`, 404, "unknown_claim"},
		"without a reason": {"c1.7", `{}`, 422, `"field":"reason"`},
		"with no body":     {"c1.7", ``, 422, `"field":"reason"`},
		"with a long one":  {"c1.7", `{"reason":"` + strings.Repeat("x", 201) + `"}`, 422, "reason"},
		"of no letter":     {"c1.7", `{"reason":"forged","letter":"-1"}`, 422, `"field":"letter"`},
		"of a word":        {"c1.7", `{"reason":"forged","letter":"x"}`, 422, `"field":"letter"`},
		"misspelt":         {"c1.7", `{"reson":"forged"}`, 422, "reson"},
	} {
		_, call := serving()
		w := call("POST", "/payouts/"+c.claim+"/dismiss", "operator", "", c.body)
		wantAnswer(t, w, c.status, c.says)
	}
}

// A retry notifies the player of a settled win, and pays a withdrawal that it makes due. The answer shows the items
// that stay dead.
func TestRetriedLetters(t *testing.T) {
	won := posting.Settlement{Claim: "c1.7", User: "ann", Packet: 7, Amount: 30, WonAt: 5}
	for name, c := range map[string]struct {
		path, body string
		settled    []posting.Settlement
		err        error
		status     int
		says       string
		told       int
		woken      int
	}{
		"a claim": {path: "/payouts/c1.7/retry", settled: []posting.Settlement{won}, status: 200,
			says: `"user":"ann","packet":"7","amount":30,"at":5,"state":"settled"`, told: 1},
		"a reclaim":    {path: "/payouts/c1.0.5-1/retry", status: 200, says: `"state":"settled"`},
		"a withdrawal": {path: "/payouts/w1/retry", status: 200, says: `"claim":"w1","user":"ann"`, woken: 1},
		"still dead": {path: "/payouts/c1.7/retry", settled: []posting.Settlement{won}, err: ledger.ErrStillDead,
			status: 409, says: "still_dead", told: 1},
		"unknown": {path: "/payouts/x/retry", err: ledger.ErrUnknownClaim, status: 404, says: "unknown_claim"},
		"all": {path: "/payouts/retry", status: 200, told: 1, woken: 1,
			says: `"still_dead":2,"need_two":0,"complete":true`},
		"all, and none could be": {path: "/payouts/retry", err: errors.New("away"), status: 500, says: "internal",
			woken: 1},
		"all, misspelt": {path: "/payouts/retry", body: `{"campagne":"c1"}`, status: 422, says: "campagne"},
	} {
		d, call := serving()
		d.retried = func(string) ([]posting.Settlement, error) { return c.settled, c.err }
		d.all = c.err
		w := call("POST", c.path, "operator", "", c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) || len(d.told) != c.told ||
			d.woken != c.woken {
			t.Errorf("%s: %d %s; %d notified, the payer woken %d times", name, w.Code, w.Body, len(d.told), d.woken)
		}
		if recorded := len(d.records) == 1 && d.records[0].Action == "payout.retry_all" &&
			strings.Contains(string(d.records[0].Detail), `"still_dead":2`); recorded != (name == "all") {
			t.Errorf("%s: recorded %v", name, d.records)
		}
	}
}
