package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
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

func TestKeySetFaults(t *testing.T) {
	ed := issuer{"ed", jwt.SigningMethodEdDSA, edKey()}
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){
		"not found":    says(http.StatusNotFound, keySetOf(ed.jwk())),
		"not JSON":     says(http.StatusOK, "<html>"),
		"down":         says(http.StatusServiceUnavailable, "down for maintenance"),
		"another JSON": says(http.StatusOK, `{"hello":1}`),
		"too large":    says(http.StatusOK, keySetOf(ed.jwk())+strings.Repeat(" ", 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				players := newPlayers(t, auth.PlayersOptions{JWKSURL: "http://id.example",
					HTTPClient: &http.Client{Transport: &roundTrip{answer: answer}}})
				user, err := players.Verify(t.Context(), ed.sign(good("u1")))
				if !errors.Is(err, auth.ErrKeysUnavailable) || errors.Is(err, auth.ErrBadToken) {
					t.Errorf("%q, %v", user, err)
				}
				testenv.WantErr(t, testenv.Err(players.Verify(t.Context(), "nonsense")), auth.ErrBadToken,
					"nonsense without keys")
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
		if (err == nil) != (i < 3) || err != nil && !strings.Contains(err.Error(), "key is for the algorithm ES256") {
			t.Errorf("key %d, for %q: %v", i, key.ALG, err)
		}
	}
}

// TestRunEndsWithItsContext: Run fetches until its context ends and then returns; the keys stay in use.
func TestRunEndsWithItsContext(t *testing.T) {
	ed := issuer{"ed", jwt.SigningMethodEdDSA, edKey()}
	synctest.Test(t, func(t *testing.T) {
		w := &roundTrip{answer: says(http.StatusOK, keySetOf(ed.jwk()))}
		for _, url := range []string{"http://id.example", ""} {
			players, err := auth.NewPlayers(auth.PlayersOptions{
				JWKSURL: url, HTTPClient: &http.Client{Transport: w}, Log: quiet, Clock: atNoon,
			})
			testenv.Must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			returned := make(chan error, 1)
			go func() { returned <- players.Run(ctx) }()
			time.Sleep(time.Hour + time.Second)
			select {
			case err := <-returned:
				t.Fatalf("Run with the address %q has ended by itself: %v", url, err)
			default:
			}
			before := len(w.times())
			cancel()
			synctest.Wait()
			select {
			case err := <-returned:
				testenv.Must(t, err)
			default:
				t.Fatalf("Run with the address %q goes on after the end of its context", url)
			}
			time.Sleep(time.Hour + time.Second)
			if n := len(w.times()); n != before {
				t.Errorf("%d fetches after the end", n-before)
			}
			if _, err := players.Verify(t.Context(), ed.sign(good("u1"))); url != "" && err != nil {
				t.Errorf("the keys are gone: %v", err)
			}
		}
		if n := len(w.times()); n < 12 || n > 14 {
			t.Errorf("%d fetches in an hour, want one in five minutes", n)
		}
	})
}
