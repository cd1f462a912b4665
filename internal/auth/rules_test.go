package auth_test

import (
	"testing"
	"time"

	"redrain/internal/auth"
)

// TestTokensOfOthers: a token that is for somebody else, from somebody else or good for too long is refused; those that
// are minted here are not.
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
	token, expires, err := players.Mint("u2", 24*time.Hour)
	if err != nil || !expires.Equal(noon.Add(time.Hour)) {
		t.Errorf("minted until %s, %v", expires, err)
	}
	if user, err := players.Verify(t.Context(), token); err != nil || user != "u2" {
		t.Errorf("%q, %v", user, err)
	}
}
