package server

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/auth"
	"redrain/internal/testenv"
)

// staffProvider is an identity provider that makes tokens of cashiers.
func staffProvider(t *testing.T) (url string, token func(name string) string) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	testenv.Must(t, err)
	mux := http.NewServeMux()
	provider := httptest.NewServer(mux)
	t.Cleanup(provider.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"token_endpoint":%q}`, provider.URL, provider.URL+"/keys",
			provider.URL+"/token")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":%q}]}`,
			base64.RawURLEncoding.EncodeToString(public))
	})
	return provider.URL, func(name string) string {
		signed := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{"iss": provider.URL, "aud": "console",
			"sub": name, "groups": []string{"cash"}, "exp": time.Now().Add(time.Hour).Unix()})
		signed.Header["kid"] = "k"
		text, err := signed.SignedString(key)
		testenv.Must(t, err)
		return text
	}
}

// TestOperatorsOfAServer: one from the file asks for a deposit, one of the provider confirms it.
func TestOperatorsOfAServer(t *testing.T) {
	cfg := ownConfig("")
	cfg.Demo = false
	limit := int64(100)
	cfg.SecondPersonAbove = &limit
	var staff func(name string) string
	cfg.OIDCIssuer, staff = staffProvider(t)
	cfg.OIDCAudience, cfg.OIDCRolesClaim, cfg.OIDCRoles = "console", "groups", []string{"cash=cashier"}
	ann, hash := auth.NewOperatorToken()
	cfg.OperatorsFile = filepath.Join(t.TempDir(), "operators.yaml")
	line := "- {name: ann, role: cashier, sha256: " + hash + "}\n"
	testenv.Must(t, os.WriteFile(cfg.OperatorsFile, []byte(line), 0o600))
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	serveOn(t, cfg, func(s *Server) {
		call := func(method, path, token, body string, status int) (answer map[string]any) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr().String()+"/api/v1"+path,
				strings.NewReader(body))
			testenv.Must(t, err)
			r.Header.Set("Authorization", "Bearer "+token)
			resp, err := client.Do(r)
			testenv.Must(t, err)
			defer func() { _ = resp.Body.Close() }()
			if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != status {
				t.Fatalf("%s %s: %s %v, %v", method, path, resp.Status, answer, err)
			}
			return answer
		}
		if who := call("GET", "/whoami", staff("bob"), "", 200); who["name"] != "bob" || who["role"] != "cashier" {
			t.Errorf("%v", who)
		}
		oidc, _ := call("GET", "/auth/config", "", "", 200)["oidc"].(map[string]any)
		if oidc["issuer"] != cfg.OIDCIssuer || oidc["client_id"] != "console" ||
			oidc["token_endpoint"] != cfg.OIDCIssuer+"/token" {
			t.Errorf("%v", oidc)
		}
		asked := call("POST", "/sponsors/acme/deposits", ann, `{"amount":500,"reference":"r"}`, 202)
		confirm := fmt.Sprintf("/approvals/%s/confirm", asked["approval"])
		call("POST", confirm, s.cfg.OperatorToken, "", 403)
		call("POST", confirm, ann, "", 409)
		call("POST", confirm, staff("bob"), "", 200)
		if acme := call("GET", "/sponsors/acme", ann, "", 200); acme["balance"] != 500.0 {
			t.Errorf("%v", acme)
		}
	})
	cfg.OperatorsFile += ".none"
	if _, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler), io.Discard); err == nil ||
		!strings.Contains(err.Error(), "--operators-file") {
		t.Errorf("without the file: %v", err)
	}
}
