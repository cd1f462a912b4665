package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
	"redrain/web"
)

func TestConsoleStartsOneRain(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newConsole(t)
	p := f.open(t, chromium.Options{})
	p.PressText("Start a rain…")
	p.Says("dialog .preview", "10 s, 8 packets a second = about 80 packets on each screen.")
	p.Fill("dialog [name=duration_ms]", "601")
	p.Says("dialog .fault", "Enter 1 to 600.")
	p.Until("no start", `document.querySelector("dialog [type=submit]").disabled`)
	p.Fill("dialog [name=duration_ms]", "12.5")
	p.Until("Advanced is folded", `!document.querySelector("dialog [name=decoy_percent]").checkVisibility()`)
	p.Press("dialog summary")
	p.Fill("dialog [name=decoy_percent]", "10")
	p.Says("dialog .preview", "12.5 s, 8 packets a second = about 100 packets on each screen.")
	p.Says("dialog .preview", "About 10 of them are decoys.")
	p.State("start")

	twice(p, "dialog [type=submit]")
	p.Says(".toast", "The rain starts at")
	p.Says(".rainnow", "starts in 8:")
	orders := f.posted("/campaigns/c1/rains")
	if len(orders) != 1 || len(orders[0].key) != 32 {
		t.Fatalf("a double click sent %+v", orders)
	}
	body := orders[0].fields()
	for field, want := range map[string]any{"starts_in_ms": 10000.0, "duration_ms": 12500.0, "drops_per_second": 8.0,
		"fall_ms": 4000.0, "decoy_percent": 10.0, "pacing": "none", "odds": 1.0, "beat_ms": 1000.0} {
		testenv.Equal(t, body[field], want, "%s is", field)
	}
}

// TestConsoleSchedulesByTheServersClock: a time of this computer's clock, which is 90 s behind, is one of the server's.
func TestConsoleSchedulesByTheServersClock(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newConsole(t)
	p := f.open(t, chromium.Options{})
	p.PressText("Start a rain…")
	p.Press(`//label[contains(., "At a set time")]/input`)
	p.Until("a time", `document.querySelector("dialog [name=starts_at]").value !== ""`)
	p.Says("dialog", "In this computer’s time zone:")
	p.State("at")
	local := browsertest.Eval[float64](p, `new Date(document.querySelector("dialog [name=starts_at]").value).getTime()`)
	p.PressText("Schedule")
	testenv.Eventually(t, patience, "an order", func() bool { return len(f.posted("/campaigns/c1/rains")) == 1 })
	at, _ := f.posted("/campaigns/c1/rains")[0].fields()["starts_at"].(float64)
	// The page knows the server's clock as exactly as its question was answered soon.
	if ahead := at - local; ahead < 60_000 || ahead > 120_000 {
		t.Errorf("the rain starts %v ms after the time that was asked for, on a clock that is %v ahead", ahead,
			clockAhead)
	}
}

func TestConsoleNamesTheMoneyBeforeItActs(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newConsole(t)
	f.campaign["rains"] = []object{f.rainFrom(f.now()-3_000, "falling")}
	f.campaign["state"] = "raining"
	p := f.open(t, chromium.Options{Scripts: []string{atOnce("Stop the rain…")}}) // the first click is heeded
	p.Says(".rainnow", "falling")
	p.Says("dialog", "¥7,638.80 in 3,820 packets stays in the campaign for another rain.")
	p.State("stop")
	// The rain goes on while it is asked: the money is that of the moment of the act.
	f.set(func() { f.stats["stock"], f.stats["amount_left"] = 3000, 600000 })
	p.Says("dialog", "¥6,000.00 in 3,000 packets stays in the campaign for another rain.")
	f.set(func() { f.stats["stock"], f.stats["amount_left"] = 3820, 763880 })
	p.Says("dialog", "¥7,638.80 in 3,820 packets")
	// If the rain ends by itself, the question closes. It does not open again for the next rain.
	next := f.rainFrom(f.now()-3_000, "falling")
	next["id"] = "r0"
	f.set(func() { f.change(object{"rains": []object{f.rainFrom(f.now()-30_000, "ended")}}) })
	p.Until("no question", `!document.querySelector(".rainnow") && !document.querySelector("dialog")`)
	f.set(func() { f.change(object{"rains": []object{next}}) })
	p.Says(".rainnow", "falling")
	p.Until("no question", `!document.querySelector("dialog")`)
	// By way of none, so that the page is known to have left r0 when the question about the last one is asked.
	f.set(func() { f.change(object{"rains": []object{f.rainFrom(f.now()-30_000, "ended")}}) })
	p.Until("no rain", `!document.querySelector(".rainnow")`)
	f.set(func() { f.change(object{"rains": []object{f.rainFrom(f.now()-3_000, "falling")}}) })
	p.Says(".rainnow", "falling")
	p.PressText("Stop the rain…")
	p.Says("dialog", "¥7,638.80 in 3,820 packets")
	p.PressText("Stop it")
	p.Until("no rain", `!document.querySelector(".rainnow") && !document.querySelector("dialog")`)

	p.PressText("Pause…")
	p.Says("dialog", "¥7,638.80 in 3,820 packets stays in the campaign.")
	p.Type("\x1b")
	p.Until("Esc leaves", `!document.querySelector("dialog")`)
	testenv.Equal(t, browsertest.Eval[string](p, `document.activeElement.textContent`), "Pause…", "the focus is on")
	p.PressText("Pause…")
	p.Says("dialog", "in flight")
	p.PressText("Pause")
	p.Says(".head", "paused")
	p.PressText("Resume…")
	p.Says("dialog", "Players can win the remaining ¥7,638.80 in 3,820 packets again.")
	p.PressText("Resume")
	p.Says(".head", "ready")

	p.PressText("Close…")
	p.Says("dialog", "¥7,638.80 in 3,820 packets returns to sponsor acme.")
	p.Says("dialog", "¥2,361.20 won, ¥7.10 of it in flight.")
	p.Says("dialog", "This cannot be undone.")
	p.Until("the name is asked for", `document.querySelector("dialog [type=submit]").disabled`)
	p.State("close")
	p.Type("Gala 2026") // the focus is in the field
	p.PressTwice("dialog [type=submit]")
	p.Says(".head", "closed")
	for path, want := range map[string]int{"rains/r1/stop": 1, "pause": 1, "resume": 1, "close": 1} {
		testenv.Equal(t, len(f.posted("/campaigns/c1/"+path)), want, "orders of %s", path)
	}
	testenv.Equal(t, p.Text(".controls"), "", "a closed campaign is offered to be changed")
	// The returned money is the ledger's figure: a server may have lost its count of wins.
	f.set(func() {
		maps.Copy(f.stats, object{"won": 1176, "amount_won": 0, "stock": 0, "amount_left": 0,
			"amount_reclaimed": 763880, "outbox": 0})
	})
	p.Says("[data-stat=amount_won] b", "¥0.00")
	p.Says("[data-stat=outbox]", "¥0.00 won and not yet paid")
	p.Says("[data-stat=amount_returned] b", "¥7,638.80")
}

// TestConsoleLateAnswerClosesNoOtherQuestion: a rain is seen to have stopped before the order to stop it is
// answered, and something else is asked meanwhile.
func TestConsoleLateAnswerClosesNoOtherQuestion(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newConsole(t)
	f.campaign["rains"] = []object{f.rainFrom(f.now()-3_000, "falling")}
	f.campaign["state"] = "raining"
	const stop = "POST /campaigns/c1/rains/r1/stop"
	stopped, release := f.answer[stop], make(chan struct{})
	f.answer[stop] = func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		stopped(answer, r)
		<-release
		reply(answer.Code, object{})(w, r)
	}
	p := f.open(t, chromium.Options{})
	p.PressText("Stop the rain…")
	p.PressText("Stop it")
	p.Until("no rain", `!document.querySelector(".rainnow") && !document.querySelector("dialog")`)
	p.PressText("Pause…")
	p.Says("dialog", "stays in the campaign.")
	close(release)
	p.Says(".toast", "The rain has stopped.")
	p.PressText("Pause")
	p.Says(".head", "paused")
}

// atOnce presses a button the moment it is there, before the page has been drawn.
func atOnce(text string) string {
	return fmt.Sprintf(`new MutationObserver((_, watch) => {
		const button = [...document.querySelectorAll("button")].find((b) => b.textContent === %q);
		if (button) { watch.disconnect(); button.click(); }
	}).observe(document, { childList: true, subtree: true })`, text)
}

// fakeProvider is an identity provider at which everybody is ann. It keeps to the authorization code flow with PKCE.
type fakeProvider struct {
	*httptest.Server

	mu      sync.Mutex
	asked   url.Values // the newest request for a code
	good    string     // the newest token; "": all have ended
	refuses bool
	nonce   string // given in the place of the one that was asked with
}

func newProvider(t *testing.T) *fakeProvider {
	t.Helper()
	f := &fakeProvider{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", f.authorize)
	mux.HandleFunc("POST /token", f.exchange)
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeProvider) authorize(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = r.URL.Query()
	answer := url.Values{"state": {f.asked.Get("state")}, "code": {"the-code"}}
	if f.refuses {
		answer = url.Values{"state": {f.asked.Get("state")}, "error": {"access_denied"}}
	}
	http.Redirect(w, r, f.asked.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

// exchange gives a token to the client whose verifier matches the code's challenge.
func (f *fakeProvider) exchange(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Access-Control-Allow-Origin", "*")
	proof := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if base64.RawURLEncoding.EncodeToString(proof[:]) != f.asked.Get("code_challenge") ||
		f.asked.Get("code_challenge_method") != "S256" || r.FormValue("code") != "the-code" ||
		r.FormValue("client_id") != "console" || r.FormValue("redirect_uri") != f.asked.Get("redirect_uri") {
		reply(http.StatusBadRequest, object{"error": "invalid_grant"})(w, r)
		return
	}
	says := object{"sub": "ann", "nonce": f.asked.Get("nonce")}
	if f.nonce != "" {
		says["nonce"] = f.nonce
	}
	payload, err := json.Marshal(says)
	if err != nil {
		panic(err)
	}
	f.good = "e30." + base64.RawURLEncoding.EncodeToString(payload) + ".sig"
	reply(http.StatusOK, object{"id_token": f.good})(w, r)
}

func (f *fakeProvider) set(change func()) {
	locked(&f.mu, change)
}

// newStaff is a server whose operators sign in at a provider.
func newStaff(t *testing.T) (*formsServer, *fakeProvider) {
	t.Helper()
	f, at := newForms(t, ""), newProvider(t)
	f.fakeServer.mu.Lock()
	f.pages = web.Handler(web.Options{SignIn: func() string { return at.URL + "/token" }})
	f.fakeServer.mu.Unlock()
	f.setAnswer("GET /auth/config", reply(http.StatusOK, object{"oidc": object{"issuer": at.URL, "client_id": "console",
		"authorization_endpoint": at.URL + "/authorize", "token_endpoint": at.URL + "/token", "scope": "openid"}}))
	f.setAnswer("GET /whoami", func(w http.ResponseWriter, r *http.Request) {
		at.mu.Lock()
		good := at.good
		at.mu.Unlock()
		if token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); token == "" || token != good {
			reply(http.StatusUnauthorized, object{"status": 401, "code": "unauthorized"})(w, r)
			return
		}
		reply(http.StatusOK, f.cashier("ann"))(w, r)
	})
	return f, at
}

// TestConsoleSignsInAtAProvider: the operator returns to the requested page, and the address keeps nothing of the
// sign-in. A sign-in that did not begin here, belongs to another one, or was refused has no effect.
func TestConsoleSignsInAtAProvider(t *testing.T) {
	browserFrom(t, testenv.All)
	f, at := newStaff(t)
	p := browsertest.Open(t, chromium.Options{Home: f.URL}, chromium.Network, chromium.Foreign)
	button := "Sign in with " + strings.TrimPrefix(at.URL, "http://")
	p.Go("/console?code=forged&state=forged#/sponsors")
	p.Says(".account [role=alert]", "This sign-in was not started here.")
	testenv.Equal(t, p.Text("form [role=alert]"), "", "the token's form says")
	p.State("choice")
	at.set(func() { at.refuses = true })
	p.PressText(button)
	p.Says(".account [role=alert]", "The identity provider refused: access_denied")
	at.set(func() { at.refuses, at.nonce = false, "of another sign-in" })
	p.PressText(button)
	p.Says(".account [role=alert]", "This sign-in was not started here.")
	at.set(func() { at.nonce = "" })
	p.PressText(button)
	p.Says("header", "ann cashier")
	p.Says("h1", "Sponsors")
	testenv.Equal(t, browsertest.Eval[string](p, `location.href`), f.URL+"/console#/sponsors", "the address is")
}
