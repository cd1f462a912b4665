package auth_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/auth"
	"redrain/internal/testenv"
)

// roundTrip is a provider without a network. It records the times of its requests. A bubble's clock orders events, but
// the race detector does not see that: the lock is for it.
type roundTrip struct {
	mu     sync.Mutex
	answer func(*http.Request) (*http.Response, error)
	asked  []time.Time
	idle   int // calls of CloseIdleConnections
}

func (r *roundTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.asked = append(r.asked, time.Now())
	answer := r.answer
	r.mu.Unlock()
	return answer(req)
}

// times returns the times of the provider's requests.
func (r *roundTrip) times() []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// answers sets the provider's answer from now on.
func (r *roundTrip) answers(answer func(*http.Request) (*http.Response, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *roundTrip) CloseIdleConnections() { r.idle++ }

// says answers with a status and a body.
func says(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Status: http.StatusText(status),
			Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

var errAway = errors.New("the provider is away")

func away(*http.Request) (*http.Response, error) { return nil, errAway }

// fetching is a verifier on a provider, with its log from Debug on. It is used within a bubble.
func fetching(t *testing.T, r *roundTrip) (*auth.Players, *bytes.Buffer) {
	t.Helper()
	var logged bytes.Buffer
	return newPlayers(t, auth.PlayersOptions{
		JWKSURL: "http://id.example", HTTPClient: &http.Client{Transport: r},
		Log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}), &logged
}

// TestAProviderThatHangs is given up after five seconds.
func TestAProviderThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &roundTrip{answer: func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}}
		fetching(t, r)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if asked := r.times(); len(asked) != 2 || asked[1].Sub(asked[0]) < 5500*time.Millisecond {
			t.Errorf("asked at %v", asked)
		}
	})
}

// TestTheLogTellsOfChanges: each failure, and that the keys are there again; not each fetch, and not the end.
func TestTheLogTellsOfChanges(t *testing.T) {
	ed := issuer{"ed", jwt.SigningMethodEdDSA, edKey()}
	good := keySetOf(ed.jwk())
	synctest.Test(t, func(t *testing.T) {
		fine := says(http.StatusOK, good)
		r := &roundTrip{answer: fine}
		var log bytes.Buffer
		players, err := auth.NewPlayers(auth.PlayersOptions{
			JWKSURL: "http://id.example", HTTPClient: &http.Client{Transport: r},
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		testenv.Must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = players.Run(ctx) }()
		check := func(wait time.Duration, warnings, news int) {
			t.Helper()
			time.Sleep(wait)
			synctest.Wait()
			text := log.String()
			if strings.Count(text, "cannot fetch") != warnings || strings.Count(text, "fetched the keys") != news {
				t.Errorf("want %d warnings and %d times news:\n%s", warnings, news, text)
			}
		}
		check(time.Minute, 0, 1)
		check(10*time.Minute, 0, 1)
		r.answers(away)
		check(4*time.Minute+time.Second/4, 1, 1) // the fetch of the 15th minute
		r.answers(fine)
		check(time.Minute, 1, 2)
		check(10*time.Minute, 1, 2)
		r.answers(func(req *http.Request) (*http.Response, error) {
			cancel()
			return nil, req.Context().Err()
		})
		check(5*time.Minute, 1, 2)
		testenv.Equal(t, r.idle, 1, "closings of idle connections at the end")
	})
}

// TestKeysThatAreLeftOut: with the reason in the log; a set of nothing else is no set.
func TestKeysThatAreLeftOut(t *testing.T) {
	enc := issuer{"enc", jwt.SigningMethodEdDSA, otherKey()}
	encJWK := enc.jwk()
	encJWK.USE = jwkset.UseEnc
	for reason, key := range map[string]any{
		"cannot unmarshal string":       "no object",
		"unsupported key: LATTICE":      map[string]any{"kty": "LATTICE", "kid": "x"},
		"unmarshal symmetric key (oct)": map[string]any{"kty": "oct", "kid": "x", "k": segment("shared")},
		"it is for encryption":          encJWK,
		"none of the 1 keys of the set": map[string]any{"kty": "RSA"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &roundTrip{answer: says(http.StatusOK, keySetOf(key))}
			players, log := fetching(t, r)
			synctest.Wait()
			testenv.WantErr(t, testenv.Err(players.Verify(t.Context(), enc.sign(good("u1")))), auth.ErrKeysUnavailable,
				reason)
			if !strings.Contains(log.String(), reason) {
				t.Errorf("no %q in:\n%s", reason, log)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		_, log := fetching(t, &roundTrip{answer: says(http.StatusOK, "<html>")})
		synctest.Wait()
		testenv.Contains(t, log.String(), "read the key set: invalid character", "log")
	})
}

// TestUnknownKeysAreAskedForEveryTenSeconds: to the nanosecond. A token with a known key, or without one, asks for
// none.
func TestUnknownKeysAreAskedForEveryTenSeconds(t *testing.T) {
	known, unknown := issuer{"a", jwt.SigningMethodEdDSA, edKey()}, issuer{"b", jwt.SigningMethodEdDSA, otherKey()}
	unnamed := issuer{"", jwt.SigningMethodEdDSA, edKey()}
	set := keySetOf(known.jwk())
	synctest.Test(t, func(t *testing.T) {
		r := &roundTrip{answer: says(http.StatusOK, set)}
		players, _ := fetching(t, r)
		synctest.Wait()
		for _, c := range []struct {
			wait    time.Duration
			by      issuer
			fetches int
			refused string
		}{
			{10*time.Second - 1, unknown, 1, "its key is not in the key set"},
			{1, unknown, 2, "its key is not in the key set"},
			{time.Minute, unnamed, 2, ""},
			{time.Minute, known, 2, ""}, // the next regular fetch comes after five
		} {
			time.Sleep(c.wait)
			_, err := players.Verify(t.Context(), c.by.sign(good("u1")))
			if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("a token of %q: %v", c.by.kid, err)
			}
			testenv.Equal(t, len(r.asked), c.fetches, "fetches after a token of %q", c.by.kid)
		}
	})
}
