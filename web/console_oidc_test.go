package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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

// exchange gives a token to who can show what the code was asked for with.
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

// TestConsoleSignsInAtAProvider: the person comes back to the place that they wanted, and the address holds nothing of
// it. What was not begun here, is for another sign-in, or was refused, signs nobody in.
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
