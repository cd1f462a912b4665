package auth_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/auth"
	"redrain/internal/testenv"
)

// sandbox is an identity provider with a discovery document, whose keys a test can change.
type sandbox struct {
	*provider

	url  string
	says map[string]string // fields of its discovery document that are replaced
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	s := &sandbox{provider: newProvider(t), says: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/realm/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.down {
			http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
			return
		}
		doc := map[string]string{"issuer": s.url, "jwks_uri": s.URL, "authorization_endpoint": s.url + "/auth",
			"token_endpoint": s.url + "/token"}
		maps.Copy(doc, s.says)
		_ = json.NewEncoder(w).Encode(doc)
	})
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	s.url = front.URL + "/realm"
	return s
}

// verifier is a server's view of the sandbox, at noon.
func (s *sandbox) verifier(t *testing.T, change func(*auth.IssuerOptions)) *auth.Issuer {
	t.Helper()
	o := auth.IssuerOptions{Of: "operators", Flag: "--oidc-issuer", Issuer: s.url, Audience: "console",
		RolesClaim: "roles", NameClaim: "email", Clock: atNoon, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	return must(auth.NewIssuer(o))
}

// staff are the claims of a token that nothing is wrong with.
func (s *sandbox) staff() jwt.MapClaims {
	return jwt.MapClaims{"iss": s.url, "aud": "console", "sub": "7", "email": "ann@example.com", "email_verified": true,
		"roles": []string{"cashier", "else"}, "exp": noon.Add(time.Hour).Unix()}
}

// TestTokensOfAProvider: a token is accepted only if the provider has signed it, for this console, and it is valid now.
func TestTokensOfAProvider(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	signer := issuer{"k1", jwt.SigningMethodES256, ecKey()}
	s.publish(signer.jwk())
	v := s.verifier(t, nil)
	stranger := issuer{"k1", jwt.SigningMethodEdDSA, otherKey()}
	unsigned := func(claims jwt.MapClaims) string {
		part := func(v any) string { return base64.RawURLEncoding.EncodeToString(must(json.Marshal(v))) }
		return part(map[string]string{"alg": "none"}) + "." + part(claims) + "."
	}
	for name, c := range map[string]struct {
		token string
		want  bool
	}{
		"a good one":             {signer.sign(s.staff()), true},
		"for several":            {signer.sign(with(s.staff(), "aud", []string{"wiki", "console"})), true},
		"for somebody else":      {signer.sign(with(s.staff(), "aud", "wiki")), false},
		"for nobody":             {signer.sign(with(s.staff(), "aud", nil)), false},
		"of another provider":    {signer.sign(with(s.staff(), "iss", "https://other.example")), false},
		"of none":                {signer.sign(with(s.staff(), "iss", nil)), false},
		"expired":                {signer.sign(with(s.staff(), "exp", noon.Add(-time.Minute).Unix())), false},
		"without an end":         {signer.sign(with(s.staff(), "exp", nil)), false},
		"not yet good":           {signer.sign(with(s.staff(), "nbf", noon.Add(time.Minute).Unix())), false},
		"about nobody":           {signer.sign(with(s.staff(), "sub", nil)), false},
		"about a shared token":   {signer.sign(with(s.staff(), "email", "operator")), false},
		"by a stranger":          {stranger.sign(s.staff()), false},
		"unsigned":               {unsigned(s.staff()), false},
		"with the key as secret": {hs256(signer.publicPEM(), s.staff()), false},
		"cut":                    {signer.sign(s.staff())[:100], false},
		"no token":               {"a.b.c", false},
		"too long":               {signer.sign(with(s.staff(), "x", strings.Repeat("x", 9000))), false},
	} {
		who, err := v.Operator(t.Context(), c.token)
		known := err == nil && who.Name == "ann@example.com"
		if known != c.want || errors.Is(err, auth.ErrNoOperator) == c.want {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
		if err != nil && len(c.token) > 20 && strings.Contains(err.Error(), c.token[len(c.token)-20:]) {
			t.Errorf("%s: the error shows the token: %v", name, err)
		}
	}
}

// TestNamesAndRolesOfAProvider: whose they are, whatever the provider calls them.
func TestNamesAndRolesOfAProvider(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	signer := issuer{"k1", jwt.SigningMethodEdDSA, edKey()}
	s.publish(signer.jwk())
	mapped := func(o *auth.IssuerOptions) {
		o.RolesClaim = "realm_access.roles"
		o.Roles = map[string][]auth.Role{"cash": {auth.RoleCashier}, "ops": {auth.RoleOperator, auth.RoleViewer}}
	}
	realm := func(values ...any) jwt.MapClaims {
		return with(s.staff(), "realm_access", map[string]any{"roles": values})
	}
	for name, c := range map[string]struct {
		change func(*auth.IssuerOptions)
		claims jwt.MapClaims
		who    string
		roles  []auth.Role
	}{
		"by the roles' names": {nil, s.staff(), "ann@example.com", []auth.Role{auth.RoleCashier}},
		"one text":            {nil, with(s.staff(), "roles", "admin"), "ann@example.com", []auth.Role{auth.RoleAdmin}},
		"none":                {nil, with(s.staff(), "roles", nil), "ann@example.com", nil},
		"of another kind":     {nil, with(s.staff(), "roles", 7), "ann@example.com", nil},
		"mapped": {mapped, realm("ops", "cash", "cash", 7), "ann@example.com",
			[]auth.Role{auth.RoleOperator, auth.RoleViewer, auth.RoleCashier}},
		"not mapped": {mapped, realm("admin"), "ann@example.com", nil},
		"a claim with dots": {func(o *auth.IssuerOptions) { o.RolesClaim = "https://id.example/roles" },
			with(s.staff(), "https://id.example/roles", []string{"viewer"}), "ann@example.com",
			[]auth.Role{auth.RoleViewer}},
		"an address that nobody has checked": {nil, with(s.staff(), "email_verified", false), "7",
			[]auth.Role{auth.RoleCashier}},
		"an address that nobody has checked, as a text": {nil, with(s.staff(), "email_verified", "false"), "7",
			[]auth.Role{auth.RoleCashier}},
		"without a name": {nil, with(s.staff(), "email", nil), "7", []auth.Role{auth.RoleCashier}},
	} {
		who, err := s.verifier(t, c.change).Operator(t.Context(), signer.sign(c.claims))
		if err != nil || who.Name != c.who || who.ID != "oidc:7" || !slices.Equal(who.Roles, c.roles) || who.Shared {
			t.Errorf("%s: %+v, %v; want %s with %v", name, who, err, c.who, c.roles)
		}
	}
}

// TestAProviderThatIsAway, at the start and later: its tokens are not accepted and not called wrong, and all others are
// judged as ever.
func TestAProviderThatIsAway(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	old, fresh := issuer{"k1", jwt.SigningMethodES256, ecKey()}, issuer{"k2", jwt.SigningMethodEdDSA, edKey()}
	s.publish(old.jwk())
	s.setDown(true)
	var log bytes.Buffer
	v := s.verifier(t, func(o *auth.IssuerOptions) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	all := auth.NewOperators(fixed("shared"), fixed(""), v)
	want := func(what, token string, want error) {
		t.Helper()
		testenv.WantErr(t, testenv.Err(all.Operator(t.Context(), token)), want, what)
	}
	want("at the start", old.sign(s.staff()), auth.ErrIssuerUnavailable)
	want("the shared one meanwhile", "shared", nil)
	want("a wrong one meanwhile", "redrain_WRONG", auth.ErrNoOperator)
	want("a player's meanwhile", old.sign(good("u1")), auth.ErrNoOperator)
	if v.Discovered() != nil || !strings.Contains(log.String(), "of=operators") {
		t.Errorf("%+v; the log: %s", v.Discovered(), &log)
	}
	s.setDown(false)
	v = s.verifier(t, nil) // as when the next fetch is due
	all = auth.NewOperators(fixed("shared"), fixed(""), v)
	want("once it is there", old.sign(s.staff()), nil)
	if d := v.Discovered(); d == nil || d.TokenEndpoint != s.url+"/token" {
		t.Errorf("%+v", d)
	}
	s.setDown(true)
	want("by its cached key", old.sign(s.staff()), nil)
	s.publish(fresh.jwk())
	s.setDown(false)
	want("by a key it has not known for long", fresh.sign(s.staff()), auth.ErrNoOperator) // asked again in 10 s
	v = s.verifier(t, nil)
	all = auth.NewOperators(fixed("shared"), fixed(""), v)
	want("by its new key", fresh.sign(s.staff()), nil)
	want("by the key that it has taken back", old.sign(s.staff()), auth.ErrNoOperator)
}

// TestAProviderThatIsNotWhoItShouldBe is never asked for keys.
func TestAProviderThatIsNotWhoItShouldBe(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"issuer": "https://other.example", "jwks_uri": "keys"} {
		s := newSandbox(t)
		signer := issuer{"k1", jwt.SigningMethodES256, ecKey()}
		s.publish(signer.jwk())
		s.says[name] = value
		_, err := s.verifier(t, nil).Operator(t.Context(), signer.sign(s.staff()))
		if !errors.Is(err, auth.ErrIssuerUnavailable) || s.requests.Load() != 0 {
			t.Errorf("%s %s: %v, and it was asked for keys %d times", name, value, err, s.requests.Load())
		}
	}
	if _, err := auth.NewIssuer(auth.IssuerOptions{Issuer: "id", Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("an issuer without an address is taken")
	}
}
