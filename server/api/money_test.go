package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/internal/auth"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// desk is the part of a ledger that these handlers use, in memory. A player's token is their id.
type desk struct {
	made    map[string]ledger.Withdrawal
	asked   ledger.WithdrawalQuery // the last list
	page    string                 // its cursor
	retried func(claim string) ([]posting.Settlement, error)
	all     error // of RetryAll

	answered map[string]*ledger.Answer // nil: being worked on
	audit    []ledger.AuditRecord
	told     []posting.Settlement
	woken    int
}

func (d *desk) Verify(_ context.Context, token string) (string, error) {
	if token == "" {
		return "", errors.New("no token")
	}
	return token, nil
}

func (d *desk) Mint(string, time.Duration) (string, time.Time, error) { panic("not asked") }

func (d *desk) Withdraw(_ context.Context, id, user string, amount rain.Money) (ledger.Withdrawal, rain.Money, error) {
	if amount > 500 {
		return ledger.Withdrawal{}, 0, ledger.ErrIdempotencyUnequal
	}
	d.made[id] = ledger.Withdrawal{ID: id, User: user, Amount: amount, State: ledger.WithdrawalPending, CreatedAt: 7,
		NextAt: 7, LastError: "dial tcp 10.0.0.1"}
	return d.made[id], 500 - amount, nil
}

func (d *desk) Withdrawal(_ context.Context, id string) (ledger.Withdrawal, error) {
	w, there := d.made[id]
	if !there {
		return w, ledger.ErrUnknownWithdrawal
	}
	return w, nil
}

func (d *desk) ListWithdrawals(_ context.Context, q ledger.WithdrawalQuery) ([]ledger.Withdrawal, string, error) {
	d.asked = q
	return []ledger.Withdrawal{d.made["w1"]}, d.page, nil
}

func (d *desk) ListDeadLetters(context.Context, string, int) ([]posting.DeadLetter, string, error) {
	return []posting.DeadLetter{{Claim: "c1.7", Campaign: "c1", Packet: 7, Kind: "pay", Reason: "torn", ID: 3}}, "", nil
}

func (d *desk) Retry(_ context.Context, claim string) ([]posting.Settlement, error) {
	return d.retried(claim)
}

func (d *desk) RetryAll(_ context.Context, campaign string, tell func([]posting.Settlement)) (ledger.Redriven, error) {
	if d.all != nil {
		return ledger.Redriven{}, d.all
	}
	tell([]posting.Settlement{{Claim: campaign + ".1"}})
	return ledger.Redriven{Retried: 3, Settled: 1, StillDead: 2}, nil
}

func (d *desk) Dismiss(_ context.Context, claim string, letter int64, why string) (ledger.Dismissed, error) {
	switch claim {
	case "c1.7":
		return ledger.Dismissed{Letters: 1, Reclaimed: rain.Money(letter), Kept: []string{why}}, nil
	case "c1.8":
		return ledger.Dismissed{Letters: 1}, nil
	case "c1.9":
		return ledger.Dismissed{Kept: []string{"retry it", "not yet"}}, fmt.Errorf("c1.9: %w", ledger.ErrNotDismissed)
	}
	return ledger.Dismissed{}, ledger.ErrUnknownClaim
}

func (d *desk) Retried(_ context.Context, settled []posting.Settlement) {
	d.told = append(d.told, settled...)
}

func (d *desk) Audit(_ context.Context, r ledger.AuditRecord) error {
	d.audit = append(d.audit, r)
	return nil
}

func (d *desk) ListAudit(_ context.Context, cursor string, _ int) ([]ledger.AuditRecord, string, error) {
	if cursor != "" {
		return nil, "", ledger.ErrBadCursor
	}
	return d.audit, "9", nil
}

func (d *desk) Begin(_ context.Context, key string, _ []byte) (*ledger.Answer, error) {
	first, taken := d.answered[key]
	if taken && first == nil {
		return nil, ledger.ErrIdempotencyBusy
	}
	if !taken {
		d.answered[key] = nil
	}
	return first, nil
}

func (d *desk) Finish(_ context.Context, key string, a ledger.Answer) error {
	d.answered[key] = &a
	return nil
}

func (d *desk) Forget(_ context.Context, key string) error {
	delete(d.answered, key)
	return nil
}

// serving is a desk with the API before it.
func serving() (*desk, func(method, path, token, key, body string) *httptest.ResponseRecorder) {
	d := &desk{
		made: map[string]ledger.Withdrawal{
			"w1": {ID: "w1", User: "ann", Amount: 30, State: ledger.WithdrawalPaid, Attempts: 2, Reference: "ref"},
		},
		answered: map[string]*ledger.Answer{},
	}
	mux := http.NewServeMux()
	New(Options{
		Withdrawals: d, DeadLetters: d, Notifier: d, Audit: d, Answers: d, Players: d,
		Operators: auth.NewOperators("operator", "viewer"), WakePayer: func() { d.woken++ },
		Log: slog.New(slog.DiscardHandler),
	}).Mount(mux)
	return d, func(method, path, token, key, body string) *httptest.ResponseRecorder {
		var in io.Reader = http.NoBody
		if body != "" {
			in = strings.NewReader(body)
		}
		r := httptest.NewRequest(method, Root+path, in)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
}

// What is answered to whom, about withdrawals, dead letters and the audit log.
func TestMoneyRoutes(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, token, body string
		page                      string
		status                    int
		says, hides               string
	}{
		"a withdrawal": {method: "POST", path: "/me/withdrawals", token: "ann", body: `{"amount":200}`, status: 201,
			says: `"balance":300`, hides: "10.0.0.1"},
		"of nothing": {method: "POST", path: "/me/withdrawals", token: "ann", body: `{}`, status: 422, says: "amount"},
		"by nobody":  {method: "POST", path: "/me/withdrawals", body: `{"amount":1}`, status: 401},
		"of another amount": {method: "POST", path: "/me/withdrawals", token: "ann", body: `{"amount":501}`,
			status: 422, says: "idempotency_mismatch"},
		"one's own":        {method: "GET", path: "/me/withdrawals/w1", token: "ann", status: 200, says: `"ref"`},
		"another player's": {method: "GET", path: "/me/withdrawals/w1", token: "bob", status: 404, hides: "ref"},
		"one's list": {method: "GET", path: "/me/withdrawals?state=paid&limit=7", token: "ann", page: "next",
			status: 200, says: `"next_cursor":"next"`, hides: "attempts"},
		"a player's, to an operator": {method: "GET", path: "/users/ann/withdrawals", token: "viewer", status: 200,
			says: `"attempts":2`},
		"everybody's": {method: "GET", path: "/withdrawals", token: "viewer", status: 200, says: `"user":"ann"`},
		"to a player": {method: "GET", path: "/withdrawals", token: "ann", status: 401},
		"in no state": {method: "GET", path: "/withdrawals?state=dead", token: "viewer", status: 422, says: "state"},
		"dead letters": {method: "GET", path: "/payouts?state=dead", token: "viewer", status: 200,
			says: `"packet":"7"`},
		"of other kinds": {method: "GET", path: "/payouts?state=settled", token: "viewer", status: 422, says: "state"},
		"a retry by a viewer": {method: "POST", path: "/payouts/c1.7/retry", token: "viewer", status: 403,
			says: "forbidden"},
		"the audit log": {method: "GET", path: "/audit", token: "viewer", status: 200,
			says: `"next_cursor":"9"`},
		"from no page of it": {method: "GET", path: "/audit?cursor=x", token: "viewer", status: 422, says: "cursor"},
	} {
		d, call := serving()
		d.page = c.page
		w := call(c.method, c.path, c.token, "", c.body)
		body := w.Body.String()
		if w.Code != c.status || !strings.Contains(body, c.says) || c.hides != "" && strings.Contains(body, c.hides) {
			t.Errorf("%s: %d %s", name, w.Code, body)
		}
		if made := len(d.made) == 2; made != (c.status == http.StatusCreated) || made != (d.woken == 1) {
			t.Errorf("%s: made %v, payer woken %d times", name, d.made, d.woken)
		}
	}
	d, call := serving()
	call("GET", "/users/ann/withdrawals?state=failed&cursor=z&limit=900", "viewer", "", "")
	if want := (ledger.WithdrawalQuery{User: "ann", State: "failed", After: "z", Limit: 500}); d.asked != want {
		t.Errorf("asked for %+v", d.asked)
	}
}

// A withdrawal that is asked for again under its key is made once and answered the same, whatever became of the answer;
// the keys of two players have nothing to do with each other.
func TestWithdrawnOnce(t *testing.T) {
	d, call := serving()
	ask := func(user string, amount string) (int, string) {
		w := call("POST", "/me/withdrawals", user, "k", `{"amount":`+amount+`}`)
		return w.Code, w.Body.String()
	}
	status, first := ask("ann", "1")
	if status != http.StatusCreated || len(d.made) != 2 {
		t.Fatal(status, first, d.made)
	}
	if status, again := ask("ann", "1"); status != http.StatusCreated || again != first || len(d.made) != 2 {
		t.Error(status, again, d.made)
	}
	clear(d.answered) // the process died before it could keep the answer
	if status, again := ask("ann", "1"); status != http.StatusCreated || again != first || len(d.made) != 2 {
		t.Error(status, again, d.made)
	}
	if status, _ := ask("bob", "1"); status != http.StatusCreated || len(d.made) != 3 {
		t.Error(status, d.made)
	}
	for key := range d.answered {
		d.answered[key] = nil
	}
	if status, busy := ask("ann", "1"); status != http.StatusConflict || !strings.Contains(busy, "in_progress") {
		t.Error(status, busy)
	}
	clear(d.answered)
	if status, _ := ask("ann", "501"); status != http.StatusUnprocessableEntity || len(d.answered) != 0 {
		t.Errorf("%d; a key that failed stays taken: %v", status, d.answered)
	}
	if w := call("POST", "/me/withdrawals", "ann", strings.Repeat("k", maxIdempotencyKey+1), "{}"); w.Code != 422 {
		t.Errorf("a key too long: %d", w.Code)
	}
}

// A dismissal needs a reason, and says what became of the letters.
func TestDismissedLetters(t *testing.T) {
	for name, c := range map[string]struct {
		claim, token, body string
		status             int
		says               string
	}{
		"one": {"c1.7", "operator", `{"reason":"forged","letter":"12"}`, 200,
			`{"claim":"c1.7","dismissed":1,"reclaimed":12,"kept":["forged"]}`},
		"all of a claim": {"c1.8", "operator", `{"reason":"forged"}`, 200, `"dismissed":1,"reclaimed":0,"kept":[]`},
		"somebody's": {"c1.9", "operator", `{"reason":"forged"}`, 409,
			`"code":"not_dismissed","detail":"retry it; not yet"`},
		"unknown":           {"x", "operator", `{"reason":"forged"}`, 404, "unknown_claim"},
		"without a reason":  {"c1.7", "operator", `{}`, 422, `"field":"reason"`},
		"with no body":      {"c1.7", "operator", ``, 422, `"field":"reason"`},
		"with a long one":   {"c1.7", "operator", `{"reason":"` + strings.Repeat("x", 201) + `"}`, 422, "reason"},
		"of no letter":      {"c1.7", "operator", `{"reason":"forged","letter":"-1"}`, 422, `"field":"letter"`},
		"of a word":         {"c1.7", "operator", `{"reason":"forged","letter":"x"}`, 422, `"field":"letter"`},
		"misspelt":          {"c1.7", "operator", `{"reson":"forged"}`, 422, "reson"},
		"asked by a viewer": {"c1.7", "viewer", `{"reason":"forged"}`, 403, "forbidden"},
	} {
		_, call := serving()
		w := call("POST", "/payouts/"+c.claim+"/dismiss", c.token, "", c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// What a retry settles is told to its player, what it makes due is paid, and what stays dead says so.
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
		"all": {path: "/payouts/retry", status: 200, says: `"retried":3,"settled":1,"still_dead":2,"complete":true`,
			told: 1, woken: 1},
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
			t.Errorf("%s: %d %s; %d told, the payer woken %d times", name, w.Code, w.Body, len(d.told), d.woken)
		}
		if recorded := len(d.audit) == 1 && d.audit[0].Action == "payout.retry_all" &&
			strings.Contains(string(d.audit[0].Detail), `"still_dead":2`); recorded != (name == "all") {
			t.Errorf("%s: recorded %v", name, d.audit)
		}
	}
}
