package server

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/sandbox/wechatlogin"
	"redrain/internal/testenv"
)

// playerProvider is an OpenID Connect provider of players. Its client is "game" with the secret "game-secret".
type playerProvider struct {
	*httptest.Server

	t   *testing.T
	key ed25519.PrivateKey

	mu     sync.Mutex
	grants map[string]playerGrant // by their codes, which work once
}

// playerGrant has the claims and the challenge of a code.
type playerGrant struct {
	callback, challenge string
	claims              jwt.MapClaims
}

func newPlayerProvider(t *testing.T) *playerProvider {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	testenv.Must(t, err)
	mux := http.NewServeMux()
	p := &playerProvider{Server: httptest.NewServer(mux), t: t, key: key, grants: map[string]playerGrant{}}
	t.Cleanup(p.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"authorization_endpoint":%q,"token_endpoint":%q}`, p.URL,
			p.URL+"/keys", p.URL+"/auth", p.URL+"/token")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":%q}]}`,
			base64.RawURLEncoding.EncodeToString(public))
	})
	mux.HandleFunc("POST /token", p.token)
	return p
}

// grant is the press of a player who agrees: the address at the provider becomes a code. More claims replace those of
// the player.
func (p *playerProvider) grant(address *url.URL, more jwt.MapClaims) (code string) {
	p.t.Helper()
	q := address.Query()
	if !strings.HasPrefix(address.String(), p.URL+"/auth?") || q.Get("response_type") != "code" ||
		q.Get("client_id") != "game" || q.Get("scope") != "openid profile" || q.Get("nonce") == "" ||
		q.Get("code_challenge_method") != "S256" {
		p.t.Errorf("redirected to %s", address)
	}
	claims := jwt.MapClaims{"iss": p.URL, "aud": "game", "sub": "ann@example.com", "nonce": q.Get("nonce"),
		"nickname": "Ann", "picture": "https://id.example/ann.png", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, more)
	p.mu.Lock()
	defer p.mu.Unlock()
	code = rand.Text()
	p.grants[code] = playerGrant{q.Get("redirect_uri"), q.Get("code_challenge"), claims}
	return code
}

func (p *playerProvider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	grant, known := p.grants[r.PostFormValue("code")]
	delete(p.grants, r.PostFormValue("code"))
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	id, secret, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case id != "game" || secret != "game-secret":
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"invalid_client"}`)
	case !known || grant.callback != r.PostFormValue("redirect_uri") ||
		grant.challenge != base64.RawURLEncoding.EncodeToString(sum[:]):
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
	default:
		signed := jwt.NewWithClaims(jwt.SigningMethodEdDSA, grant.claims)
		signed.Header["kid"] = "k"
		text, err := signed.SignedString(p.key)
		if err != nil {
			p.t.Error(err)
		}
		_, _ = fmt.Fprintf(w, `{"access_token":"a","token_type":"Bearer","id_token":%q}`, text)
	}
}

// TestALoginByOpenIDConnect: a person is always the same player. Forged, replayed and foreign answers are refused.
func TestALoginByOpenIDConnect(t *testing.T) {
	p := newPlayerProvider(t)
	cfg := loginConfig(t)
	cfg.PlayerOIDCIssuer, cfg.PlayerOIDCClientID, cfg.PlayerOIDCClientSecret = p.URL, "game", "game-secret"
	cfg.LoginReturn = []string{cfg.PublicURL, "https://shop.example/play"}
	const begin, end = "/api/v1/login/oidc", "/api/v1/login/oidc/callback"
	log := serveLogged(t, cfg, func(s *Server) {
		testenv.Eventually(t, testenv.Patiently(5*time.Second), "the provider is known",
			func() bool { return s.playerIssuer.Discovered() != nil })
		v := newVisitor(t, s)
		back := func(to *url.URL, code string) string {
			return end + "?" + url.Values{"state": {to.Query().Get("state")}, "code": {code}}.Encode()
		}
		to := v.begin(begin)
		first := v.arrive(back(to, p.grant(to, nil)), cfg.PublicURL+"/")
		if first["nickname"] != "Ann" || first["picture"] != "https://id.example/ann.png" || first["payee"] != nil ||
			!strings.HasPrefix(fmt.Sprint(first["sub"]), "oidc-") {
			t.Errorf("claims %v", first)
		}
		const shop = "https://shop.example/play?campaign=c1"
		to = v.begin(begin + "?return=" + url.QueryEscape(shop+"#old"))
		again := v.arrive(back(to, p.grant(to, jwt.MapClaims{"nickname": nil, "name": "Ann L."})), shop)
		if again["sub"] != first["sub"] || again["nickname"] != "Ann L." {
			t.Errorf("claims %v, before %v", again, first)
		}
		other := v.begin(begin)
		if bob := v.arrive(back(other, p.grant(other, jwt.MapClaims{"sub": "bob"})),
			cfg.PublicURL+"/"); bob["sub"] == first["sub"] {
			t.Error("two persons are one player")
		}

		refused := func(name string, by *visitor, path string, status int, code string) {
			t.Helper()
			got, _, said := by.get(path, "*/*")
			if got != status || said != code {
				t.Errorf("%s: %d %s, want %d %s", name, got, said, status, code)
			}
		}
		refused("a replayed answer", v, back(to, p.grant(to, nil)), 400, "login_expired")
		refused("a forged state", v, end+"?code=x&state="+rand.Text(), 400, "login_expired")
		refused("no state", v, end+"?code=x", 400, "login_expired")
		to = v.begin(begin)
		refused("another browser", newVisitor(t, s), back(to, p.grant(to, nil)), 400, "login_expired")
		refused("the state is used up", v, back(to, p.grant(to, nil)), 400, "login_expired")
		to = v.begin(begin)
		refused("a forged code", v, back(to, "forged"), 400, "login_refused")
		to, other = v.begin(begin), v.begin(begin)
		refused("the code of another attempt", v, back(to, p.grant(other, nil)), 400, "login_refused")
		for name, wrong := range map[string]jwt.MapClaims{"nonce": {"nonce": "another"}, "no nonce": {"nonce": nil},
			"audience": {"aud": "shop"}, "issuer": {"iss": "https://id.example"}, "azp": {"azp": "shop"},
			"expired": {"exp": time.Now().Add(-time.Hour).Unix()}, "no person": {"sub": nil}} {
			to = v.begin(begin)
			refused(name, v, back(to, p.grant(to, wrong)), 502, "login_failed")
		}
		to = v.begin(begin)
		refused("cancelled", v, end+"?error=access_denied&state="+to.Query().Get("state"), 403, "login_denied")
		for _, foreign := range []string{"https://evil.example/", "https://shop.example/", "//shop.example/play"} {
			refused(foreign, v, begin+"?return="+url.QueryEscape(foreign), 400, "foreign_return")
		}
		refused("no such login", v, "/api/v1/login/wechat", 403, "login_off")

		// A person reads the error on the page.
		to = v.begin(begin + "?return=" + url.QueryEscape(shop))
		_, page, _ := v.get(end+"?error=access_denied&state="+to.Query().Get("state"), "text/html,*/*")
		testenv.Equal(t, page.String(), shop+"#login=login_denied", "the page")
		_, page, _ = v.get(end+"?code=x&state=forged", "text/html,*/*")
		testenv.Equal(t, page.String(), cfg.PublicURL+"/#login=login_expired", "the page")

		v.ban(fmt.Sprint(first["sub"]), s.cfg.OperatorToken)
		to = v.begin(begin)
		refused("a banned player", v, back(to, p.grant(to, nil)), 403, "banned")
	})
	for _, secret := range []string{"game-secret", "ann@example.com"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// TestALoginByWeChat: by the official account and by the mini-program, with the errors that WeChat documents.
func TestALoginByWeChat(t *testing.T) {
	w := wechatlogin.New("wx8888888888888888", "app-secret")
	t.Cleanup(w.Close)
	cfg := loginConfig(t)
	cfg.WeChatLoginAppID, cfg.WeChatLoginSecret, cfg.WeChatLoginEndpoint = "wx8888888888888888", "app-secret", w.URL
	cfg.WeChatMiniAppID, cfg.WeChatMiniSecret = "wx8888888888888888", "app-secret"
	ann := wechatlogin.User{OpenID: "oAnn-4242", Nickname: "小雨", Picture: "https://thirdwx.qlogo.cn/a",
		HasAllowed: true}
	log := serveLogged(t, cfg, func(s *Server) {
		v := newVisitor(t, s)
		back := func(to *url.URL, code string) string {
			return "/api/v1/login/wechat/callback?" +
				url.Values{"state": {to.Query().Get("state")}, "code": {code}}.Encode()
		}
		to := v.begin("/api/v1/login/wechat?profile=true")
		claims := v.arrive(back(to, w.Code(ann)), cfg.PublicURL+"/")
		payee, _ := claims["payee"].(map[string]any)
		if claims["nickname"] != "小雨" || claims["picture"] != ann.Picture ||
			payee["wechat"] != "wx8888888888888888:oAnn-4242" || strings.Contains(fmt.Sprint(claims["sub"]), "Ann") {
			t.Errorf("claims %v", claims)
		}
		var mini struct {
			User  string `json:"user"`
			Token string `json:"token"`
			Code  string `json:"code"`
		}
		testenv.Equal(t, v.post("/api/v1/login/wechat-mini", w.Code(ann), &mini), http.StatusOK, "status")
		testenv.Equal(t, mini.User, fmt.Sprint(claims["sub"]), "the player in the mini-program")
		v.claims(mini.User, mini.Token)

		for _, c := range []struct {
			errcode, status int
			code            string
		}{
			{40029, 400, "login_refused"}, {40163, 400, "login_refused"}, {45011, 503, "login_busy"},
			{-1, 503, "login_busy"}, {40226, 403, "login_denied"}, {40125, 502, "login_failed"},
			{40164, 502, "login_failed"},
		} {
			to := v.begin("/api/v1/login/wechat")
			w.Fail(c.errcode)
			status, _, code := v.get(back(to, "code"), "*/*")
			mini.Code = ""
			miniStatus := v.post("/api/v1/login/wechat-mini", "code", &mini)
			w.Fail(0)
			if status != c.status || code != c.code || miniStatus != c.status || mini.Code != c.code {
				t.Errorf("errcode %d: %d %s, mini-program %d %s", c.errcode, status, code, miniStatus, mini.Code)
			}
		}
		to = v.begin("/api/v1/login/wechat")
		status, _, code := v.get(back(to, w.Code(wechatlogin.User{OpenID: "oSnap", IsSnapshot: true})), "*/*")
		if status != 403 || code != "login_snapshot" {
			t.Errorf("a snapshot: %d %s", status, code)
		}

		resp, err := v.http.Get(v.home + "/")
		testenv.Must(t, err)
		html, err := io.ReadAll(resp.Body)
		testenv.Must(t, errors.Join(err, resp.Body.Close()))
		testenv.Contains(t, string(html), `data-sign="/api/v1/wechat/sign"`, "the player's page")
		page := url.QueryEscape(cfg.PublicURL + "/?campaign=c1")
		testenv.Eventually(t, testenv.Patiently(10*time.Second), "the page is signed", func() bool {
			status, _, _ := v.get("/api/v1/wechat/sign?url="+page, "*/*")
			return status == http.StatusOK
		})
		if status, _, code := v.get("/api/v1/wechat/sign?url="+url.QueryEscape("https://evil.example/"),
			"*/*"); status != 400 || code != "foreign_return" {
			t.Errorf("a foreign page: %d %s", status, code)
		}
		to = v.begin("/api/v1/login/wechat")
		w.Close()
		if status, _, code := v.get(back(to, "code"), "*/*"); status != 503 || code != "login_busy" {
			t.Errorf("WeChat is away: %d %s", status, code)
		}
	})
	for _, secret := range []string{"oAnn-4242", "oSnap", "app-secret", "小雨", "thirdwx", "ticket-1"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	if !strings.Contains(log.String(), "errcode 40125") {
		t.Errorf("the log has no reason of the failed login:\n%s", log)
	}
}
