package auth_test

import (
	"errors"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/auth"
)

// TestWhatMustBeUnderstoodIsRefused: a crit header asks for extensions, of which none is known here, and dates are
// numbers. All of these are signed as they should be.
func TestWhatMustBeUnderstoodIsRefused(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	signer := issuer{"k1", jwt.SigningMethodES256, ecKey()}
	s.publish(signer.jwk())
	players := newPlayers(t, auth.PlayersOptions{Secret: secret, JWKSURL: s.URL})
	operators := s.verifier(t, nil)
	type header = map[string]any
	at := func(d time.Duration) string { return strconv.FormatInt(noon.Add(d).Unix(), 10) }
	sign := func(method jwt.SigningMethod, key any, h header, claims jwt.MapClaims) string {
		token := jwt.NewWithClaims(method, claims)
		maps.Copy(token.Header, h)
		return must(token.SignedString(key))
	}
	for name, c := range map[string]struct {
		header header
		claim  string
		value  any
		good   bool
	}{
		"as ever":                  {good: true},
		"a header of no concern":   {header: header{"x": []string{"crit"}}, good: true},
		"dates as numbers":         {claim: "nbf", value: noon.Unix(), good: true},
		"an unknown extension":     {header: header{"crit": []string{"bound"}, "bound": "to this device"}},
		"a registered extension":   {header: header{"crit": []string{"b64"}, "b64": true}},
		"an extension that is not": {header: header{"crit": []string{"exp"}}},
		"no extension":             {header: header{"crit": []string{}}},
		"crit is null":             {header: header{"crit": nil}},
		"crit is a text":           {header: header{"crit": "b64"}},
		"exp is a text":            {claim: "exp", value: at(time.Hour)},
		"nbf is a text":            {claim: "nbf", value: at(-time.Hour)},
	} {
		change := func(claims jwt.MapClaims) jwt.MapClaims {
			if c.claim == "" {
				return claims
			}
			return with(claims, c.claim, c.value)
		}
		named := header{"kid": "k1"}
		maps.Copy(named, c.header)
		for who, token := range map[string]string{
			"the secret": sign(jwt.SigningMethodHS256, []byte(secret), c.header, change(good("u1"))),
			"a key":      sign(signer.method, signer.key, named, change(good("u1"))),
		} {
			user, err := players.Verify(t.Context(), token)
			if (user == "u1") != c.good || errors.Is(err, auth.ErrBadToken) == c.good {
				t.Errorf("a player's by %s, %s: %q, %v", who, name, user, err)
			}
		}
		_, err := operators.Operator(t.Context(), sign(signer.method, signer.key, named, change(s.staff())))
		if (err == nil) != c.good || errors.Is(err, auth.ErrNoOperator) == c.good {
			t.Errorf("an operator's, %s: %v", name, err)
		}
	}
	if user, err := players.Verify(t.Context(), hs256([]byte(secret), with(good("u1"), "iat", at(0)))); user != "" ||
		!errors.Is(err, auth.ErrBadToken) {
		t.Errorf("iat is a text: %q, %v", user, err)
	}
}
