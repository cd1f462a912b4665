package web_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"redrain/internal/testenv"
)

func consoleFake(t *testing.T) (f *fakeServer, posted func() []string) {
	t.Helper()
	f = newFake(t)
	campaign := object{
		"id": "c1", "name": "Gala", "sponsor": "acme", "budget": 1000000, "packets": 5000, "split": "double_mean", "min": 1, "max": nil, "amounts": nil,
		"wins_per_user": 1, "taps_per_user": 0, "shards": 1, "expires_in_ms": 86400000, "state": "ready", "created_at": f.now(),
		"expires_at": f.now() + 86400000, "revision": 3, "rains": []object{},
	}
	f.answer["GET /campaigns"] = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer op" {
			reply(http.StatusUnauthorized, object{"status": 401, "code": "unauthorized", "title": "Unauthorized"})(w, r)
			return
		}
		reply(http.StatusOK, object{"items": []object{campaign}})(w, r)
	}
	f.answer["GET /campaigns/c1"] = reply(http.StatusOK, campaign)
	f.answer["GET /campaigns/c1/stats"] = reply(http.StatusOK, object{
		"online": 300, "taps": 1250, "won": 1180, "stock": 3820, "paid": 1176, "amount_won": 236120, "amount_paid": 235410, "amount_left": 763880,
		"grabs_per_second": 92.5,
	})
	f.answer["GET /campaigns/c1/claims"] = reply(http.StatusOK, object{"items": []object{
		{"claim": "c1-1", "user": "u1", "packet": "1", "amount": 88, "at": f.now(), "state": "settled"},
	}})
	f.answer["GET /campaigns/c1/reconciliation"] = reply(http.StatusOK, object{
		"funded": 1000000, "paid": 235410, "reclaimed": 0, "stock": 763880, "unsettled": 710, "dead": 0, "difference": 0, "balanced": true,
	})
	var mu sync.Mutex
	var keys []string
	f.answer["POST /campaigns/c1/rains"] = func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		reply(http.StatusCreated, object{"id": "r1"})(w, r)
	}
	f.answer["POST /campaigns"] = reply(http.StatusUnprocessableEntity, object{
		"status": 422, "code": "invalid", "title": "Unprocessable Entity", "errors": []object{{"field": "budget", "message": "is too small"}},
	})
	return f, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(keys)
	}
}

func (b *browser) testConsole(t *testing.T) {
	f, posted := consoleFake(t)
	p := b.open(t, f, "/console#token=op", 1280, 900)
	stat := func(name string) string {
		return eval[string](p, `document.querySelector("[data-stat=`+name+`] b")?.textContent ?? ""`)
	}
	testenv.Eventually(t, patience, "live figures", func() bool { return stat("won") == "1,180" && stat("amount_left") == "7,638.80" })
	if got := eval[string](p, `location.href`); got != f.URL+"/console" {
		t.Errorf("the token is still in the address: %s", got)
	}
	p.press("Check")
	has := func(text string) {
		t.Helper()
		testenv.Eventually(t, patience, "the page says "+text, func() bool { return eval[bool](p, `document.body.innerText.includes("`+text+`")`) })
	}
	has("Every cent is accounted for.")

	p.press("Start a rain")
	p.do(chromedp.WaitVisible(chromedp.CSS("dialog[open]")))
	p.do(chromedp.DoubleClick(chromedp.CSS("dialog[open] .main")))
	testenv.Eventually(t, patience, "the rain is ordered", func() bool { return len(posted()) > 0 })
	has("The rain is coming.")
	if keys := posted(); len(slices.Compact(keys)) != 1 || len(keys[0]) != 32 {
		t.Errorf("a double click ordered with the keys %q", keys)
	}

	p.press("New…")
	for name, value := range map[string]string{"name": "Gala", "sponsor": "acme", "budget": "1", "packets": "5000"} {
		p.do(chromedp.SendKeys(chromedp.CSS("dialog [name="+name+"]"), value))
	}
	p.press("Fund and create")
	testenv.Eventually(t, patience, "the fault stands beside its field", func() bool {
		return eval[string](p, `document.querySelector("dialog [name=budget]").parentElement.querySelector(".fault").textContent`) == "is too small"
	})
	p.shoot("create")
}

func (b *browser) testConsoleRefusesAWrongToken(t *testing.T) {
	f, _ := consoleFake(t)
	p := b.open(t, f, "/console#token=wrong", 1280, 900)
	testenv.Eventually(t, patience, "the sign-in", func() bool {
		return eval[string](p, `document.querySelector("[role=alert]")?.textContent ?? ""`) == "The server does not know this token."
	})
}
