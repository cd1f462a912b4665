package auth_test

import (
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/auth"
	"redrain/internal/testenv"
)

// A token may say how its player is called and looks; what is no text, or a guess at it, keeps nobody out.
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
	token, _, err := players.MintFor(auth.Persona{User: "u1", Name: "小雨", Picture: "https://img.example/1"}, time.Hour)
	testenv.Must(t, err)
	got, err := players.Grant(t.Context(), token)
	if err != nil || got.User != "u1" || got.Name != "小雨" || got.Picture != "https://img.example/1" {
		t.Errorf("%+v, %v", got, err)
	}
}
