package auth_test

import (
	"errors"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/auth"
	"redrain/internal/testenv"
)

// TestWhatMustBeUnderstoodIsRefused: a crit header asks for extensions, and this package knows none. Dates are numbers.
// All tokens here have a valid signature.
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

// TestTokensOfOthers: a token with another audience, another issuer or too long a life is refused. Tokens minted here
// are accepted.
func TestTokensOfOthers(t *testing.T) {
	players := newPlayers(t, auth.PlayersOptions{
		Secret: secret, Audience: "redrain", Issuer: "https://id.example", MaxLife: time.Hour,
	})
	ok := with(with(with(good("u1"), "aud", "redrain"), "iss", "https://id.example"),
		"exp", noon.Add(time.Hour).Unix())
	for name, c := range map[string]struct {
		token string
		good  bool
	}{
		"good":                 {hs256([]byte(secret), ok), true},
		"for several":          {hs256([]byte(secret), with(ok, "aud", []string{"shop", "redrain"})), true},
		"for another":          {hs256([]byte(secret), with(ok, "aud", "shop")), false},
		"for nobody":           {hs256([]byte(secret), with(ok, "aud", nil)), false},
		"from another":         {hs256([]byte(secret), with(ok, "iss", "https://evil.example")), false},
		"from nobody":          {hs256([]byte(secret), with(ok, "iss", nil)), false},
		"good for years":       {hs256([]byte(secret), with(ok, "exp", noon.AddDate(50, 0, 0).Unix())), false},
		"the last of years":    {hs256([]byte(secret), with(ok, "iat", noon.AddDate(-50, 0, 0).Unix())), false},
		"issued in the leeway": {hs256([]byte(secret), with(ok, "iat", noon.Add(-4*time.Second).Unix())), true},
	} {
		if _, err := players.Verify(t.Context(), c.token); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	token, expires, err := players.Mint(auth.Persona{User: "u2"}, 24*time.Hour)
	if err != nil || !expires.Equal(noon.Add(time.Hour)) {
		t.Errorf("minted until %s, %v", expires, err)
	}
	accepts(t, players, token, "u2")
}

// A token may hold its player's name and picture. An invalid one does not make the token invalid.
func TestNamesInTokens(t *testing.T) {
	players := newPlayers(t, auth.PlayersOptions{Secret: secret})
	for name, is := range map[string]struct {
		claims        jwt.MapClaims
		name, picture string
	}{
		"nothing": {good("u1"), "", ""},
		"name": {with(with(good("u1"), "name", "小雨"), "picture", "https://img.example/1"), "小雨",
			"https://img.example/1"},
		"nickname":      {with(with(good("u1"), "name", "Zhang San"), "nickname", "小雨"), "小雨", ""},
		"no nickname":   {with(with(good("u1"), "name", "小雨"), "nickname", ""), "小雨", ""},
		"no texts":      {with(with(good("u1"), "name", 7), "picture", []string{"x"}), "", ""},
		"a null":        {with(with(good("u1"), "name", nil), "nickname", map[string]any{}), "", ""},
		"hostile texts": {with(good("u1"), "name", "\u202e<script>"), "\u202e<script>", ""},
	} {
		got, err := players.Grant(t.Context(), hs256([]byte(secret), is.claims))
		if err != nil || got.Name != is.name || got.Picture != is.picture {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	token, _, err := players.Mint(auth.Persona{User: "u1", Name: "小雨", Picture: "https://img.example/1"}, time.Hour)
	testenv.Must(t, err)
	got, err := players.Grant(t.Context(), token)
	if err != nil || got.User != "u1" || got.Name != "小雨" || got.Picture != "https://img.example/1" {
		t.Errorf("%+v, %v", got, err)
	}
}
