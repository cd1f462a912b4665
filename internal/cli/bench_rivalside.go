package cli

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"redrain/internal/bench"
	"redrain/internal/operator"
)

// rivalSide is guests who play for themselves: their names, where they call from, and how they tap.
type rivalSide struct {
	name    string
	players int
	address func(player int) string
	hand    *bench.Hand
	server  string
	http    http.RoundTripper
	idle    func() // closes idle connections

	mu     sync.Mutex
	guests []operator.Guest // "": not made yet
	from   []string         // their addresses
	worked time.Duration    // that it took to make them
}

func newRivalSide(server, name string, players int, address func(int) string, hand *bench.Hand) *rivalSide {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's
	transport.MaxIdleConnsPerHost = 64
	s := &rivalSide{name: name, players: players, address: address, hand: hand, server: server, http: transport,
		idle: transport.CloseIdleConnections}
	s.forget()
	return s
}

// forget has new guests made for the next rain.
func (s *rivalSide) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guests, s.from = make([]operator.Guest, s.players), make([]string, s.players)
	for i := range s.from {
		s.from[i] = s.address(i)
	}
}

func (s *rivalSide) close() { s.idle() }

// users are the names of the guests that there are.
func (s *rivalSide) users() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	users := map[string]bool{}
	for _, g := range s.guests {
		if g.User != "" {
			users[g.User] = true
		}
	}
	return users
}

// makeGuests makes those that there are not yet, with the work that the server wants for it. A server that refuses
// more of an address for long is one that keeps a farm out: the others play.
func (s *rivalSide) makeGuests(ctx context.Context, say func(format string, args ...any)) error {
	const atOnce = 8
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	var mu sync.Mutex
	made, full := len(s.users()), false
	if made == s.players {
		return nil
	}
	for i := range s.players {
		g.Go(func() error {
			mu.Lock()
			enough := full
			mu.Unlock()
			if enough {
				return nil
			}
			_, err := s.token(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			if later, ok := errors.AsType[*bench.LaterError](err); ok {
				say("no more guests of %s: %v", s.name, later)
				full = true
				return nil
			}
			if err == nil {
				if made++; made%50 == 0 || made == s.players {
					say("%d of %d guests of %s are made", made, s.players, s.name)
				}
			}
			return err
		})
	}
	err := g.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worked += time.Since(began)
	return err
}

// shortWait is how long a guest's name is waited for at a time.
const shortWait = 10 * time.Second

// token is the token of a player, who is made a guest at the first call.
func (s *rivalSide) token(ctx context.Context, player int) (string, error) {
	s.mu.Lock()
	known, from := s.guests[player].Token, s.from[player]
	s.mu.Unlock()
	if known != "" {
		return known, nil
	}
	client, err := operator.New(operator.Options{Server: s.server, HTTPClient: s.client(from)})
	if err != nil {
		return "", err
	}
	guest, err := patientGuest(ctx, client)
	if err != nil {
		return "", later(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guests[player] = guest
	return guest.Token, nil
}

// patientGuest makes a guest, and comes again when the server says so, unless that is long.
func patientGuest(ctx context.Context, client *operator.Client) (operator.Guest, error) {
	for {
		guest, err := client.Guest(ctx)
		refusal, refused := errors.AsType[*operator.Error](err)
		if !refused || refusal.RetryAfter() == 0 || refusal.RetryAfter() > shortWait ||
			!pauseFor(ctx, refusal.RetryAfter()) {
			return guest, err
		}
	}
}

// pauseFor waits, and tells whether it was not cut short.
func pauseFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// client asks in the name of an address, as a proxy does.
func (s *rivalSide) client(address string) *http.Client {
	return &http.Client{Transport: forwarded{address, s.http}}
}

func (s *rivalSide) turn(ctx context.Context, player int, token, campaign string) (bench.Turn, error) {
	return askTurn(ctx, s.server, s.client(s.header(player).Get(forwardedFor)), token, campaign)
}

// header names the player's address.
func (s *rivalSide) header(player int) http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return http.Header{forwardedFor: {s.from[player]}}
}

const forwardedFor = "X-Forwarded-For"

// forwarded sends requests with an address.
type forwarded struct {
	address string
	by      http.RoundTripper
}

// RoundTrip sends the request.
func (f forwarded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(forwardedFor, f.address)
	return f.by.RoundTrip(r)
}
