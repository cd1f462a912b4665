package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/auth"
)

var quiet = slog.New(slog.DiscardHandler)

// wire is a provider without a network, so that time can be the bubble's.
type wire struct {
	mu      sync.Mutex
	status  int
	body    string
	failure error
	fetches int
}

func (w *wire) RoundTrip(*http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fetches++
	if w.failure != nil {
		return nil, w.failure
	}
	return &http.Response{StatusCode: w.status, Status: http.StatusText(w.status),
		Body: io.NopCloser(strings.NewReader(w.body))}, nil
}

// answer sets what is answered from now on.
func (w *wire) answer(status int, body string, failure error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status, w.body, w.failure = status, body, failure
}

func (w *wire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fetches
}

func keySetOf(keys ...any) string { return string(must(json.Marshal(map[string]any{"keys": keys}))) }

func TestProviderDownAtStart(t *testing.T) {
	ed := issuer{"ed", jwt.SigningMethodEdDSA, edKey()}
	p := newProvider(t)
	p.publish(ed.jwk())
	p.setDown(true)
	players := newPlayers(t, auth.PlayersOptions{JWKSURL: p.URL})
	if _, err := players.Verify(t.Context(), ed.sign(good("u1"))); !errors.Is(err, auth.ErrKeysUnavailable) ||
		errors.Is(err, auth.ErrBadToken) {
		t.Errorf("while the provider is down: %v", err)
	}
	if _, err := players.Verify(t.Context(), "nonsense"); !errors.Is(err, auth.ErrBadToken) {
		t.Errorf("nonsense while the provider is down: %v", err)
	}
}

func TestKeySetIsFetchedAgain(t *testing.T) {
	old, young := issuer{"old", jwt.SigningMethodEdDSA, edKey()}, issuer{"new", jwt.SigningMethodEdDSA, otherKey()}
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		w := &wire{status: http.StatusBadGateway}
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
		if n := w.count(); n < 4 || n > 10 {
			t.Errorf("%d fetches in the first 20 s of an outage; want a few, further and further apart", n)
		}
		w.answer(http.StatusOK, keySetOf(old.jwk()), nil)
		pass(30 * time.Second)
		if !accepts(old) {
			t.Fatal("the provider is back, its key is still refused")
		}

		w.answer(http.StatusOK, keySetOf(old.jwk(), young.jwk()), nil)
		pass(11 * time.Second)
		if !accepts(young) {
			t.Error("a new key is not fetched when its first token comes")
		}
		before := w.count()
		for range 1000 {
			accepts(issuer{"made up", jwt.SigningMethodEdDSA, edKey()})
		}
		if n := w.count() - before; n > 1 {
			t.Errorf("made-up key ids cause %d fetches", n)
		}

		w.answer(0, "", errors.New("no route to host"))
		pass(time.Hour)
		if !accepts(old) || !accepts(young) {
			t.Error("an outage forgets the keys")
		}
		w.answer(http.StatusOK, keySetOf(), nil)
		pass(time.Hour)
		if !accepts(young) {
			t.Error("an empty set replaces a good one")
		}
		w.answer(http.StatusOK, keySetOf(young.jwk()), nil)
		pass(6 * time.Minute)
		if accepts(old) || !accepts(young) {
			t.Error("a withdrawn key is still accepted after five minutes")
		}
		if text := logged.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, "no route to host") {
			t.Errorf("log:\n%s", text)
		}
	})
}

func TestKeySetFaults(t *testing.T) {
	ed := issuer{"ed", jwt.SigningMethodEdDSA, edKey()}
	for name, w := range map[string]*wire{
		"not found":    {status: http.StatusNotFound, body: keySetOf(ed.jwk())},
		"not JSON":     {status: http.StatusOK, body: "<html>"},
		"another JSON": {status: http.StatusOK, body: `{"hello":1}`},
		"too large":    {status: http.StatusOK, body: keySetOf(ed.jwk()) + strings.Repeat(" ", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				players := newPlayers(t, auth.PlayersOptions{JWKSURL: "http://id.example",
					HTTPClient: &http.Client{Transport: w}})
				user, err := players.Verify(t.Context(), ed.sign(good("u1")))
				if !errors.Is(err, auth.ErrKeysUnavailable) {
					t.Errorf("%q, %v", user, err)
				}
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

// TestKnownKeysAreNotFetchedAgain: a token whose key is in the copy causes no request to the provider, however long ago
// the last fetch was; a token with an unknown key causes one.
func TestKnownKeysAreNotFetchedAgain(t *testing.T) {
	known, unknown := issuer{"a", jwt.SigningMethodEdDSA, edKey()}, issuer{"b", jwt.SigningMethodEdDSA, otherKey()}
	synctest.Test(t, func(t *testing.T) {
		w := &wire{status: http.StatusOK, body: keySetOf(known.jwk())}
		players := newPlayers(t, auth.PlayersOptions{
			JWKSURL: "http://id.example", HTTPClient: &http.Client{Transport: w},
		})
		synctest.Wait()
		for _, c := range []struct {
			by      issuer
			fetches int
		}{{known, 1}, {known, 1}, {unknown, 2}, {known, 2}} {
			time.Sleep(time.Minute) // the next regular fetch comes after five
			_, _ = players.Verify(t.Context(), c.by.sign(good("u1")))
			if n := w.count(); n != c.fetches {
				t.Errorf("%d fetches after a token with the key %q, want %d", n, c.by.kid, c.fetches)
			}
		}
	})
}

// TestAKeyIsForItsAlgorithm: a key that names its algorithm verifies no token of another one.
func TestAKeyIsForItsAlgorithm(t *testing.T) {
	ed := issuer{"ed", jwt.SigningMethodEdDSA, edKey()}
	for alg, accepted := range map[jwkset.ALG]bool{"": true, jwkset.AlgEdDSA: true, jwkset.AlgES256: false} {
		key := ed.jwk()
		key.ALG = alg
		p := newProvider(t)
		p.publish(key)
		players := newPlayers(t, auth.PlayersOptions{JWKSURL: p.URL})
		if _, err := players.Verify(t.Context(), ed.sign(good("u1"))); (err == nil) != accepted {
			t.Errorf("a key for %q: %v", alg, err)
		}
	}
}

// TestRunEndsWithItsContext: Run fetches until its context ends and then returns; the keys stay in use.
func TestRunEndsWithItsContext(t *testing.T) {
	ed := issuer{"ed", jwt.SigningMethodEdDSA, edKey()}
	synctest.Test(t, func(t *testing.T) {
		w := &wire{status: http.StatusOK, body: keySetOf(ed.jwk())}
		for _, url := range []string{"http://id.example", ""} {
			players, err := auth.NewPlayers(auth.PlayersOptions{
				JWKSURL: url, HTTPClient: &http.Client{Transport: w}, Log: quiet, Clock: atNoon,
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			returned := make(chan error, 1)
			go func() { returned <- players.Run(ctx) }()
			time.Sleep(time.Hour + time.Second)
			select {
			case err := <-returned:
				t.Fatalf("Run with the address %q has ended by itself: %v", url, err)
			default:
			}
			before := w.count()
			cancel()
			synctest.Wait()
			select {
			case err := <-returned:
				if err != nil {
					t.Error(err)
				}
			default:
				t.Fatalf("Run with the address %q goes on after the end of its context", url)
			}
			time.Sleep(time.Hour + time.Second)
			if n := w.count(); n != before {
				t.Errorf("%d fetches after the end", n-before)
			}
			if _, err := players.Verify(t.Context(), ed.sign(good("u1"))); url != "" && err != nil {
				t.Errorf("the keys are gone: %v", err)
			}
		}
		if n := w.count(); n < 12 || n > 14 {
			t.Errorf("%d fetches in an hour, want one in five minutes", n)
		}
	})
}
