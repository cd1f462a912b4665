package auth_test

import (
	"bytes"
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/rain"
)

const secret = "a secret that is long enough for HS256"

func newPlayers(t testing.TB, o auth.PlayersOptions) *auth.Players {
	t.Helper()
	if o.Clock == nil {
		o.Clock = atNoon
	}
	if o.Log == nil {
		o.Log = quiet
	}
	p, err := auth.NewPlayers(o)
	testenv.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil || ctx.Err() == nil {
			t.Errorf("Run has ended by itself: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return p
}

// segment encodes one part of a token by hand, for tokens that no library would make.
func segment(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// accepts fails the test unless a token is good for a player.
func accepts(t *testing.T, p *auth.Players, token, user string, what ...string) {
	t.Helper()
	if got, err := p.Verify(t.Context(), token); got != user || err != nil {
		t.Errorf("%v: %q, %v", what, got, err)
	}
}

func TestVerifyWithSecret(t *testing.T) {
	players := newPlayers(t, auth.PlayersOptions{Secret: secret})
	ok := good("u1")
	hs := func(claims jwt.MapClaims) string { return hs256([]byte(secret), claims) }
	tests := map[string]struct {
		token string
		user  string // "" if the token is bad
	}{
		"good":                 {hs(ok), "u1"},
		"Chinese name":         {hs(good("张三")), "张三"},
		"longest sub":          {hs(good(strings.Repeat("x", rain.MaxUserLen))), strings.Repeat("x", rain.MaxUserLen)},
		"expired in leeway":    {hs(with(ok, "exp", noon.Add(-4*time.Second).Unix())), "u1"},
		"nbf null":             {hs(with(ok, "nbf", json.RawMessage("null"))), "u1"},
		"nbf in leeway":        {hs(with(ok, "nbf", noon.Add(4*time.Second).Unix())), "u1"},
		"expired":              {hs(with(ok, "exp", noon.Add(-6*time.Second).Unix())), ""},
		"no exp":               {hs(with(ok, "exp", nil)), ""},
		"exp is null":          {segment(`{"alg":"HS256"}`) + "." + segment(`{"sub":"u1","exp":null}`) + ".AAAA", ""},
		"exp is a word":        {hs(with(ok, "exp", "tomorrow")), ""},
		"future nbf":           {hs(with(ok, "nbf", noon.Add(time.Minute).Unix())), ""},
		"no sub":               {hs(with(ok, "sub", nil)), ""},
		"empty sub":            {hs(good("")), ""},
		"sub with newline":     {hs(good("u1\nu2")), ""},
		"sub too long":         {hs(good(strings.Repeat("x", rain.MaxUserLen+1))), ""},
		"sub is a number":      {hs(with(ok, "sub", 7)), ""},
		"wrong secret":         {hs256([]byte("another secret, just as long as the one"), ok), ""},
		"empty secret":         {hs256([]byte{}, ok), ""},
		"alg none":             {segment(`{"alg":"none"}`) + "." + segment(`{"sub":"u1","exp":9999999999}`) + ".", ""},
		"alg None":             {segment(`{"alg":"None"}`) + "." + segment(`{"sub":"u1","exp":9999999999}`) + ".", ""},
		"alg missing":          {segment(`{}`) + "." + segment(`{"sub":"u1","exp":9999999999}`) + ".", ""},
		"HS512, same secret":   {must(jwt.NewWithClaims(jwt.SigningMethodHS512, ok).SignedString([]byte(secret))), ""},
		"RS256 without a JWKS": {issuer{"", jwt.SigningMethodRS256, rsaKey()}.sign(ok), ""},
		"signature cut off": {strings.TrimRight(hs(ok),
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"), ""},
		"two parts":  {"a.b", ""},
		"four parts": {hs(ok) + ".x", ""},
		"nothing":    {"", ""},
		"not base64": {"!.!.!", ""},
		"not JSON":   {segment("x") + "." + segment("y") + "." + segment("z"), ""},
		"too long":   {hs(with(ok, "padding", strings.Repeat("x", 9000))), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			user, err := players.Verify(t.Context(), tc.token)
			testenv.Equal(t, user, tc.user, "user")
			if wantErr := tc.user == ""; wantErr != errors.Is(err, auth.ErrBadToken) || wantErr != (err != nil) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A change of any single character of the token must be noticed.
func TestVerifyNoticesEveryChange(t *testing.T) {
	players := newPlayers(t, auth.PlayersOptions{Secret: secret})
	token := hs256([]byte(secret), good("u1"))
	for i := range len(token) {
		changed := []byte(token)
		if changed[i]++; changed[i] == '.' {
			continue // four parts: tested above
		}
		if user, err := players.Verify(t.Context(), string(changed)); err == nil {
			t.Errorf("position %d: accepted for %q", i, user)
		}
	}
}

func TestVerifyRefusesEverythingByDefault(t *testing.T) {
	players := newPlayers(t, auth.PlayersOptions{})
	for _, token := range []string{
		hs256([]byte{}, good("u1")), hs256([]byte(secret), good("u1")),
		issuer{"k", jwt.SigningMethodEdDSA, edKey()}.sign(good("u1")),
		segment(`{"alg":"none"}`) + "." + segment(`{"sub":"u1","exp":9999999999}`) + ".",
	} {
		if user, err := players.Verify(t.Context(), token); !errors.Is(err, auth.ErrBadToken) {
			t.Errorf("%s: %q, %v", token, user, err)
		}
	}
}

func TestVerifyWithJWKS(t *testing.T) {
	rs := issuer{"rs", jwt.SigningMethodRS256, rsaKey()}
	es := issuer{"es", jwt.SigningMethodES256, ecKey()}
	ed := issuer{"ed", jwt.SigningMethodEdDSA, edKey()}
	enc := issuer{"enc", jwt.SigningMethodEdDSA, otherKey()}
	encJWK := enc.jwk()
	encJWK.USE = "enc"
	p := newProvider(t)
	p.publish(
		map[string]any{"kty": "LATTICE", "kid": "future"}, // an unknown kind of key
		map[string]any{"kty": "oct", "kid": "oct", "k": segment("shared")},
		encJWK, rs.jwk(), es.jwk(), ed.jwk(),
	)
	players := newPlayers(t, auth.PlayersOptions{JWKSURL: p.URL, Secret: secret})
	unnamed := func(i issuer) issuer { i.kid = ""; return i }
	renamed := func(i issuer, kid string) issuer { i.kid = kid; return i }

	for name, token := range map[string]string{
		"RS256": rs.sign(good("u1")), "ES256": es.sign(good("u1")), "EdDSA": ed.sign(good("u1")),
		"RS256 without kid": unnamed(rs).sign(good("u1")), "EdDSA without kid": unnamed(ed).sign(good("u1")),
		"HS256 beside it": hs256([]byte(secret), good("u1")),
	} {
		accepts(t, players, token, "u1", name)
	}
	forged := map[string]string{
		"HS256 signed with the RSA public key (PEM)":     hs256(rs.publicPEM(), good("u1")),
		"HS256 signed with the RSA public key (modulus)": hs256(rs.key.Public().(*rsa.PublicKey).N.Bytes(), good("u1")),
		"HS256 signed with the set's symmetric key":      hs256([]byte("shared"), good("u1")),
		"RS256 header with an HS256 signature": segment(`{"alg":"RS256","kid":"rs"}`) +
			strings.TrimPrefix(hs256(rs.publicPEM(), good("u1")), segment(`{"alg":"HS256","typ":"JWT"}`)),
		"alg none": segment(`{"alg":"none","kid":"rs"}`) + "." +
			segment(`{"sub":"u1","exp":9999999999}`) + ".",
		"EdDSA with the RSA key's id": renamed(ed, "rs").sign(good("u1")),
		"another issuer's key": issuer{"ed", jwt.SigningMethodEdDSA,
			otherKey()}.sign(good("u1")),
		"a key for encryption":          enc.sign(good("u1")),
		"a key for encryption, unnamed": unnamed(enc).sign(good("u1")),
		"an unknown key":                renamed(ed, "nobody").sign(good("u1")),
		"kid is a number": segment(`{"alg":"EdDSA","kid":7}`) + "." + segment(`{"sub":"u1",`+
			`"exp":9999999999}`) + ".AAAA",
		"PS256": issuer{"rs", jwt.SigningMethodPS256,
			rsaKey()}.sign(good("u1")),
		"RS512": issuer{"rs", jwt.SigningMethodRS512,
			rsaKey()}.sign(good("u1")),
		"expired": ed.sign(with(good("u1"), "exp",
			noon.Add(-time.Minute).Unix())),
		"no exp": ed.sign(with(good("u1"), "exp", nil)),
	}
	for name, token := range forged {
		if user, err := players.Verify(t.Context(), token); !errors.Is(err, auth.ErrBadToken) {
			t.Errorf("%s: accepted for %q, %v", name, user, err)
		}
	}
}

func TestMint(t *testing.T) {
	now := noon.Add(300 * time.Millisecond)
	players := newPlayers(t, auth.PlayersOptions{Secret: secret, Clock: func() time.Time { return now }})
	token, expires, err := players.Mint(auth.Persona{User: "u1"}, time.Minute)
	testenv.Must(t, err)
	if want := noon.Add(time.Minute); !expires.Equal(want) {
		t.Errorf("expires %v, want %v", expires, want)
	}
	accepts(t, players, token, "u1")
	now = now.Add(2 * time.Minute)
	if user, err := players.Verify(t.Context(), token); !errors.Is(err, auth.ErrBadToken) {
		t.Errorf("after its time: %q, %v", user, err)
	}
	if _, _, err := players.Mint(auth.Persona{User: "two\nlines"}, time.Minute); err == nil {
		t.Error("minted a token that Verify refuses")
	}
	_, _, err = newPlayers(t, auth.PlayersOptions{}).Mint(auth.Persona{User: "u1"}, time.Minute)
	testenv.WantErr(t, err, auth.ErrNoSecret, "without a secret")
}

// TestPayees: the claim comes back as it was minted. Values that are no text are empty, and other forms are no claim.
func TestPayees(t *testing.T) {
	players := newPlayers(t, auth.PlayersOptions{Secret: secret, Clock: func() time.Time { return noon }})
	payee := map[string]string{"wechat": "wx1:oAnn"}
	token, _, err := players.Mint(auth.Persona{User: "u1", Payee: payee}, time.Minute)
	testenv.Must(t, err)
	testenv.Equal(t, testenv.Got(players.Grant(t.Context(), token)).Must(t).Payee, payee, "payee")
	for _, c := range []struct {
		claim any
		want  map[string]string
	}{{map[string]any{"wechat": 5}, map[string]string{"wechat": ""}}, {"wx1:oAnn", nil}, {nil, nil}} {
		claims := good("u1")
		claims["payee"] = c.claim
		grant := testenv.Got(players.Grant(t.Context(), hs256([]byte(secret), claims))).Must(t)
		testenv.Equal(t, grant.Payee, c.want, "%v", c.claim)
	}
}

// TestDefaults: without a clock the time is the machine's, and without a log the program's is used.
func TestDefaults(t *testing.T) {
	var logged bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	defer slog.SetDefault(before)
	players, err := auth.NewPlayers(auth.PlayersOptions{Secret: secret})
	testenv.Must(t, err)
	token, expires, err := players.Mint(auth.Persona{User: "u1"}, time.Hour)
	if left := time.Until(expires); err != nil || left > time.Hour || left < 59*time.Minute {
		t.Errorf("expires in %v, %v", left, err)
	}
	accepts(t, players, token, "u1")
	testenv.WantFail(t, testenv.Err(players.Verify(t.Context(), "x")), "a bad token", "is accepted")
	testenv.Contains(t, logged.String(), "refused a player's token", "log")
}

// TestSecrets: of 32 bytes or more, one or two of them, with white space around.
func TestSecrets(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("s", 32)
	for text, want := range map[string]int{
		"": 0, long: 1, long[1:]: 0, long + "\r\n": 1, "  " + long + "\n\n" + secret + "\n": 2,
		long + "\nshort": 0, long + "\n" + secret + "\n" + long + "x": 0,
	} {
		got, err := auth.ParseSecrets(text)
		if len(got) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	testenv.WantFail(t, testenv.Err(auth.NewPlayers(auth.PlayersOptions{Secret: "short"})), "a short one", "is taken")
}

// TestRotation: during a rotation the old secret and the new one are accepted, and the new one signs.
func TestRotation(t *testing.T) {
	t.Parallel()
	const fresh = "the next secret, which is as long as the one"
	now := secret
	players := newPlayers(t, auth.PlayersOptions{Secret: secret, NewSecret: func() string { return now }})
	for _, step := range []struct {
		text            string
		old, new, signs bool
	}{{secret, true, false, false}, {fresh + "\n" + secret, true, true, true}, {fresh, false, true, true}} {
		now = step.text
		_, old := players.Verify(t.Context(), hs256([]byte(secret), good("u1")))
		_, next := players.Verify(t.Context(), hs256([]byte(fresh), good("u1")))
		minted, _, err := players.Mint(auth.Persona{User: "u1"}, time.Hour)
		testenv.Must(t, err)
		_, signs := newPlayers(t, auth.PlayersOptions{Secret: fresh}).Verify(t.Context(), minted)
		if (old == nil) != step.old || (next == nil) != step.new || (signs == nil) != step.signs {
			t.Errorf("%q: old %v, new %v, signed by the new one %v", step.text, old, next, signs)
		}
	}
}
