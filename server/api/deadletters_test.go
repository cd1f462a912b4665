package api

import (
	"errors"
	"strings"
	"testing"

	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
)

// A dismissal needs a reason, and says what became of the letters.
func TestDismissedLetters(t *testing.T) {
	for name, c := range map[string]struct {
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
			t.Errorf("%s: %d %s; %d told, the payer woken %d times", name, w.Code, w.Body, len(d.told), d.woken)
		}
		if recorded := len(d.audit) == 1 && d.audit[0].Action == "payout.retry_all" &&
			strings.Contains(string(d.audit[0].Detail), `"still_dead":2`); recorded != (name == "all") {
			t.Errorf("%s: recorded %v", name, d.audit)
		}
	}
}
