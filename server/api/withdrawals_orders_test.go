package api

import (
	"context"
	"strings"
	"testing"

	"redrain/payout/ledger"
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

// TestOperatorsOrders: who does what with a withdrawal, and why, is said or it is not done; the first of two people is
// told 202, and the player hears of an end.
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
			t.Errorf("%s: %d %s; done %q, told %q", name, w.Code, w.Body, d.orders, d.ended)
		}
	}
}
