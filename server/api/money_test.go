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

	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// desk is the part of a ledger that these handlers use, in memory. A player's token is their id.
type desk struct {
	approvals
	auditNotes

	made    map[string]ledger.Withdrawal
	asked   ledger.WithdrawalQuery // the last list
	page    string                 // its cursor
	retried func(claim string) ([]posting.Settlement, error)
	all     error // of RetryAll

	answered map[string]*ledger.Answer // nil: being worked on
	told     []posting.Settlement
	linked   []string // payees, in their order
	woken    int
	orders   []string // of operators
	ended    []string // withdrawals with a notice to their player
}

// Grant takes a token's text for its player. A player with a payee says so behind a blank.
func (d *desk) Grant(_ context.Context, token string) (auth.Grant, error) {
	if token == "" {
		return auth.Grant{}, errors.New("no token")
	}
	user, payee, _ := strings.Cut(token, " at ")
	g := auth.Grant{User: user, Issued: 5}
	if payee != "" {
		g.Payee = map[string]string{"wechat": payee}
	}
	return g, nil
}

func (d *desk) Recheck(_ context.Context, id, receiver string) error {
	switch id {
	case "stranger":
		return ledger.ErrUnknownWithdrawal
	case "away":
		return errors.New("the database is away")
	}
	d.orders = append(d.orders, "recheck "+id+" of "+receiver)
	return nil
}

func (d *desk) Mint(auth.Persona, time.Duration) (string, time.Time, error) { panic("not asked") }

func (d *desk) Withdraw(_ context.Context, id, user string, amount rain.Money) (ledger.Withdrawal, rain.Money, error) {
	if user == "noah" {
		return ledger.Withdrawal{}, 0, ledger.ErrNoPayee
	}
	if amount > 500 {
		return ledger.Withdrawal{}, 0, ledger.ErrIdempotencyUnequal
	}
	d.made[id] = ledger.Withdrawal{ID: id, User: user, Amount: amount, State: ledger.WithdrawalRequested, CreatedAt: 7,
		NextAt: 7, LastError: "dial tcp 10.0.0.1"}
	return d.made[id], 500 - amount, nil
}

func (d *desk) WithdrawHeld(ctx context.Context, id, user string, amount rain.Money,
	why string) (ledger.Withdrawal, rain.Money, error) {
	w, balance, err := d.Withdraw(ctx, id, user, amount)
	if err == nil {
		w.State, w.LastError = ledger.WithdrawalHeld, why
		d.made[id] = w
	}
	return w, balance, err
}

func (d *desk) Withdrawal(_ context.Context, id string) (ledger.Withdrawal, error) {
	w, there := d.made[id]
	if !there {
		return w, ledger.ErrUnknownWithdrawal
	}
	return w, nil
}

func (d *desk) WithdrawalHistory(context.Context, string) ([]ledger.WithdrawalEvent, error) {
	return []ledger.WithdrawalEvent{{At: 7, State: ledger.WithdrawalSent, Actor: "redrain", Reason: "sent to bank"}},
		nil
}

func (d *desk) ListWithdrawals(_ context.Context, q ledger.WithdrawalQuery) ([]ledger.Withdrawal, string, error) {
	d.asked = q
	return []ledger.Withdrawal{d.made["w1"]}, d.page, nil
}

func (d *desk) ListDeadLetters(context.Context, string, int) ([]posting.DeadLetter, string, error) {
	return []posting.DeadLetter{{Claim: "c1.7", Campaign: "c1", Packet: 7, Kind: "pay", Reason: "torn", ID: 3}}, "", nil
}

func (d *desk) RetryAll(_ context.Context, campaign string, tell func([]posting.Settlement)) (ledger.Redriven, error) {
	if d.all != nil {
		return ledger.Redriven{}, d.all
	}
	tell([]posting.Settlement{{Claim: campaign + ".1"}})
	return ledger.Redriven{Retried: 3, Settled: 1, StillDead: 2}, nil
}

func (d *desk) Do(_ context.Context, deed ledger.Deed, by ledger.Person) (o ledger.Outcome, err error) {
	switch deed.Act {
	case ledger.ActRetry:
		o.Settled, err = d.retried(deed.Target)
	case ledger.ActDismiss:
		o.Dismissed, err = dismissed(deed.Target, deed.Letter, by.Reason)
	case ledger.ActPaid, ledger.ActBack:
		if by.Name == "ann" {
			o.Pending = &ledger.Approval{ID: "a1", Deed: deed, Asked: by, State: ledger.ApprovalPending}
		}
		err = d.ordered(string(deed.Act), deed.Target, by, deed.Reference)
	case ledger.ActDeposit, ledger.ActProvider:
		panic("not asked")
	}
	return o, err
}

func dismissed(claim string, letter int64, why string) (ledger.Dismissed, error) {
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

func (d *desk) ListAudit(_ context.Context, cursor string, _ int) ([]ledger.AuditRecord, string, error) {
	if cursor != "" {
		return nil, "", ledger.ErrBadCursor
	}
	return d.records, "9", nil
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

// balances reads a balance only.
type balances struct{ claimList }

func (balances) UserBalance(context.Context, string) (rain.Money, error) { return 500, nil }

// serving is a desk with the API before it.
func serving() (*desk, func(method, path, token, key, body string) *httptest.ResponseRecorder) {
	d := &desk{
		made: map[string]ledger.Withdrawal{
			"w1": {ID: "w1", User: "ann", Amount: 30, State: ledger.WithdrawalPaid, Attempts: 2, Reference: "ref",
				Receiver: "bank"},
			"w2": {ID: "w2", User: "ann", Amount: 30, State: ledger.WithdrawalAction, Receiver: "bank",
				Action: ledger.Action{URL: "https://pay.example/c", Until: 99}, LastError: "secret"},
		},
		answered: map[string]*ledger.Answer{},
	}
	a := newAPI(Options{
		Withdrawals: d, Payees: d, PayeeKind: "wechat:wx1", Claims: balances{}, DeadLetters: d, Approvals: d,
		Notifier: d, Audit: d, Answers: d, Players: d,
		Operators: staff{
			"operator": testStaff["shared"], "viewer": testStaff["shared-viewer"],
			"ann the cashier": person("ann", auth.RoleCashier), "bob the cashier": person("bob", auth.RoleCashier),
			"late the cashier": person("late", auth.RoleCashier),
		},
		WakePayer:     func() { d.woken++ },
		TellWithdrawn: func(id string) { d.ended = append(d.ended, id) },
		Log:           slog.New(slog.DiscardHandler),
	})
	return d, func(method, path, token, key, body string) *httptest.ResponseRecorder {
		return ask(a, token, method, path, body, func(r *http.Request) { r.Header.Set("Idempotency-Key", key) })
	}
}

// TestMoneyRoutes checks the answers to each caller, about withdrawals, dead letters and the audit log.
func TestMoneyRoutes(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, token, body string
		page                      string
		status                    int
		says, hides               string
	}{
		"a withdrawal": {method: "POST", path: "/me/withdrawals", token: "ann", body: `{"amount":200}`, status: 201,
			says: `"balance":300`, hides: "10.0.0.1"},
		"without a payee": {method: "POST", path: "/me/withdrawals", token: "noah", body: `{"amount":200}`, status: 409,
			says: "no_payee"},
		"with a malformed payee": {method: "POST", path: "/me/withdrawals", token: "ann at bad", body: `{"amount":200}`,
			status: 422, says: `"payee"`},
		"one's payee": {method: "GET", path: "/me", token: "ann", status: 200, says: `"payee":{"wechat":"oUp***AJO"}`,
			hides: "F8uMu"},
		"one's payee, with a malformed one": {method: "GET", path: "/me", token: "ann at bad", status: 200,
			says: `"balance":500`},
		"of nothing": {method: "POST", path: "/me/withdrawals", token: "ann", body: `{}`, status: 422, says: "amount"},
		"by nobody":  {method: "POST", path: "/me/withdrawals", body: `{"amount":1}`, status: 401},
		"of another amount": {method: "POST", path: "/me/withdrawals", token: "ann", body: `{"amount":501}`,
			status: 422, says: "idempotency_mismatch"},
		"one's own": {method: "GET", path: "/me/withdrawals/w1", token: "ann", status: 200, says: `"ref"`,
			hides: "bank"},
		"one that waits for its player": {method: "GET", path: "/me/withdrawals/w2", token: "ann", status: 200,
			says: `"state":"pending","stage":"action_required","created_at":0,` +
				`"action":{"kind":"url","url":"https://pay.example/c","expires_at":99}`, hides: "secret"},
		"one with its history": {method: "GET", path: "/withdrawals/w1", token: "viewer", status: 200,
			says: `"history":[{"at":7,"stage":"sent","actor":"redrain","reason":"sent to bank"}]`},
		"a history, to a player": {method: "GET", path: "/withdrawals/w1", token: "ann", status: 401},
		"an unknown one":         {method: "GET", path: "/withdrawals/w9", token: "viewer", status: 404},
		"those that are held":    {method: "GET", path: "/withdrawals?state=held", token: "viewer", status: 200},
		"another player's":       {method: "GET", path: "/me/withdrawals/w1", token: "bob", status: 404, hides: "ref"},
		"one's list": {method: "GET", path: "/me/withdrawals?state=paid&limit=7", token: "ann", page: "next",
			status: 200, says: `"next_cursor":"next"`, hides: "attempts"},
		"a player's, to an operator": {method: "GET", path: "/users/ann/withdrawals", token: "viewer", status: 200,
			says: `"attempts":2`},
		"everybody's": {method: "GET", path: "/withdrawals", token: "viewer", status: 200,
			says: `"user":"ann"`},
		"to a player": {method: "GET", path: "/withdrawals", token: "ann", status: 401},
		"in no state": {method: "GET", path: "/withdrawals?state=over", token: "viewer", status: 422,
			says: "state"},
		"those that are dead": {method: "GET", path: "/withdrawals?state=dead", token: "viewer", status: 200},
		"a player's dead": {method: "GET", path: "/me/withdrawals?state=dead", token: "ann", status: 422,
			says: "state"},
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
		if made := len(d.made) == 3; made != (c.status == http.StatusCreated) || made != (d.woken == 1) {
			t.Errorf("%s: made %v, payer woken %d times", name, d.made, d.woken)
		}
	}
	d, call := serving()
	call("GET", "/users/ann/withdrawals?state=failed&cursor=z&limit=900", "viewer", "", "")
	testenv.Equal(t, d.asked, (ledger.WithdrawalQuery{User: "ann", State: "failed", After: "z", Limit: 500}),
		"asked for")
}

// A withdrawal that is requested again under its key is made once and answered the same, even if the answer was lost.
// The keys of two players are independent.
func TestWithdrawnOnce(t *testing.T) {
	d, call := serving()
	ask := func(user string, amount string) (int, string) {
		w := call("POST", "/me/withdrawals", user, "k", `{"amount":`+amount+`}`)
		return w.Code, w.Body.String()
	}
	status, first := ask("ann", "1")
	if status != http.StatusCreated || len(d.made) != 3 {
		t.Fatal(status, first, d.made)
	}
	for _, kept := range d.answered {
		kept.Body = []byte(`"kept"`)
	}
	if status, again := ask("ann", "1"); status != http.StatusCreated || again != "\"kept\"\n" || len(d.made) != 3 {
		t.Error(status, again, d.made)
	}
	clear(d.answered) // the process died before it could keep the answer
	if status, again := ask("ann", "1"); status != http.StatusCreated || again != first || len(d.made) != 3 {
		t.Error(status, again, d.made)
	}
	if status, _ := ask("bob", "1"); status != http.StatusCreated || len(d.made) != 4 {
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
	testenv.Equal(t, call("POST", "/me/withdrawals", "ann", strings.Repeat("k", maxIdempotencyKey+1), "{}").Code, 422,
		"a key too long")
}
