package auth_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/auth"
	"redrain/internal/testenv"
)

var quiet = slog.New(slog.DiscardHandler)

func keySetOf(keys ...any) string { return string(must(json.Marshal(map[string]any{"keys": keys}))) }

func TestKeySetIsFetchedAgain(t *testing.T) {
	old, young := issuer{"old", jwt.SigningMethodEdDSA, edKey()}, issuer{"new", jwt.SigningMethodEdDSA, otherKey()}
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		w := &roundTrip{answer: says(http.StatusBadGateway, "")}
		players := newPlayers(t, auth.PlayersOptions{
			JWKSURL:    "https://someone:hunter2@id.example/keys",
			Log:        slog.New(slog.NewTextHandler(&logged, nil)),
			HTTPClient: &http.Client{Transport: w},
		})
		accepts := func(i issuer) bool {
			_, err := players.Verify(t.Context(), i.sign(good("u1")))
			return err == nil
		}
		pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }

		pass(20 * time.Second)
		if n := len(w.times()); n < 4 || n > 10 {
			t.Errorf("%d fetches in the first 20 s of an outage; want a few, further and further apart", n)
		}
		w.answers(says(http.StatusOK, keySetOf(old.jwk())))
		pass(30 * time.Second)
		if !accepts(old) {
			t.Fatal("the provider is back, its key is still refused")
		}

		w.answers(says(http.StatusOK, keySetOf(old.jwk(), young.jwk())))
		pass(11 * time.Second)
		if !accepts(young) {
			t.Error("a new key is not fetched when its first token comes")
		}
		before := len(w.times())
		for range 1000 {
			accepts(issuer{"made up", jwt.SigningMethodEdDSA, edKey()})
		}
		if n := len(w.times()) - before; n > 1 {
			t.Errorf("made-up key ids cause %d fetches", n)
		}

		w.answers(away)
		pass(time.Hour)
		if !accepts(old) || !accepts(young) {
			t.Error("an outage forgets the keys")
		}
		w.answers(says(http.StatusOK, keySetOf()))
		pass(time.Hour)
		if !accepts(young) {
			t.Error("an empty set replaces a good one")
		}
		w.answers(says(http.StatusOK, keySetOf(young.jwk())))
		pass(6 * time.Minute)
		if accepts(old) || !accepts(young) {
			t.Error("a withdrawn key is still accepted after five minutes")
		}
		if text := logged.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, errAway.Error()) {
			t.Errorf("log:\n%s", text)
		}
	})
}

// TestKeySets: a set is read up to 1 MiB, whole. Without any, a token is not called bad, and nonsense is.
func TestKeySets(t *testing.T) {
	ed := issuer{"ed", jwt.SigningMethodEdDSA, edKey()}
	odd := map[string]any{"kty": "RSA", "key_ops": "verify"} // a text for a list
	set := keySetOf(ed.jwk())
	largest := set + strings.Repeat(" ", 1<<20-len(set))
	cut := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.MultiReader(strings.NewReader(set),
			iotest.ErrReader(errAway)))}, nil
	}
	for name, c := range map[string]struct {
		answer func(*http.Request) (*http.Response, error)
		want   error
	}{
		"the largest":      {says(http.StatusOK, largest), nil},
		"a larger one":     {says(http.StatusOK, largest+" "), auth.ErrKeysUnavailable},
		"fails at its end": {cut, auth.ErrKeysUnavailable},
		"not found":        {says(http.StatusNotFound, set), auth.ErrKeysUnavailable},
		"one odd key":      {says(http.StatusOK, keySetOf(odd, ed.jwk())), nil},
		"not JSON":         {says(http.StatusOK, "<html>"), auth.ErrKeysUnavailable},
		"another JSON":     {says(http.StatusOK, `{"hello":1}`), auth.ErrKeysUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				players, _ := fetching(t, &roundTrip{answer: c.answer})
				testenv.WantErr(t, testenv.Err(players.Verify(t.Context(), ed.sign(good("u1")))), c.want, name)
				testenv.WantErr(t, testenv.Err(players.Verify(t.Context(), "nonsense")), auth.ErrBadToken, "nonsense")
			})
		})
	}
}

func TestNewPlayersRefusesABadAddress(t *testing.T) {
	for _, address := range []string{"keys.json", "http://", "::"} {
		if _, err := auth.NewPlayers(auth.PlayersOptions{JWKSURL: address, Log: quiet}); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

// TestPublishedKeys: a key that names its algorithm verifies no token of another one. Of a private key that a provider
// publishes by mistake, the public half counts.
func TestPublishedKeys(t *testing.T) {
	ed := issuer{"ed", jwt.SigningMethodEdDSA, edKey()}
	private := must(jwkset.NewJWKFromKey(ed.key, jwkset.JWKOptions{
		Marshal:  jwkset.JWKMarshalOptions{Private: true},
		Metadata: jwkset.JWKMetadataOptions{KID: "ed", USE: jwkset.UseSig},
	})).Marshal()
	if private.D == "" {
		t.Fatal("the test publishes no private key")
	}
	own, another := ed.jwk(), ed.jwk()
	own.ALG, another.ALG = jwkset.AlgEdDSA, jwkset.AlgES256
	for i, key := range []jwkset.JWKMarshal{ed.jwk(), private, own, another} {
		p := newProvider(t)
		p.publish(key)
		_, err := newPlayers(t, auth.PlayersOptions{JWKSURL: p.URL}).Verify(t.Context(), ed.sign(good("u1")))
		if (err == nil) != (i < 3) || err != nil && !strings.Contains(err.Error(), "not for the algorithm EdDSA") {
			t.Errorf("key %d, for %q: %v", i, key.ALG, err)
		}
	}
}

// TestKeysOfOneID: keys without an id, and keys of several types with one id, are all tried, up to a limit.
func TestKeysOfOneID(t *testing.T) {
	t.Parallel()
	for _, kid := range []string{"", "same"} {
		signers := []issuer{
			{kid, jwt.SigningMethodEdDSA, edKey()}, {kid, jwt.SigningMethodEdDSA, otherKey()},
			{kid, jwt.SigningMethodES256, ecKey()}, {kid, jwt.SigningMethodRS256, rsaKey()},
		}
		for range 30 {
			signers = append(signers, issuer{kid, jwt.SigningMethodEdDSA, newEdKey()})
		}
		beyond := issuer{kid, jwt.SigningMethodEdDSA, newEdKey()}
		p := newProvider(t)
		var keys []any
		for _, one := range append(signers, beyond) {
			keys = append(keys, one.jwk())
		}
		p.publish(keys...)
		players := newPlayers(t, auth.PlayersOptions{JWKSURL: p.URL})
		for i, one := range signers {
			accepts(t, players, one.sign(good("u1")), "u1", kid, one.method.Alg(), strconv.Itoa(i))
		}
		testenv.WantErr(t, testenv.Err(players.Verify(t.Context(), beyond.sign(good("u1")))), auth.ErrBadToken, "33rd")
	}
}
