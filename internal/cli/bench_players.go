package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/auth"
	"redrain/internal/bench"
)

// benchPlayers are the names and tokens of simulated players: minted users, or guests.
type benchPlayers struct {
	name    string // of minted users, as a prefix; of a side with --farm and --bot
	count   int
	server  string
	minter  *auth.Players           // nil: guests
	address func(player int) string // the simulated address of a player; nil: the real one
	hand    *bench.Hand             // with --farm and --bot
	mu      sync.Mutex              // guards all below
	pools   map[int]*http.Transport // by the address that players connect from; anySource: not chosen
	known   []identity              // by player
	worked  time.Duration           // processor time of creating the guests
}

// identity is a player's name, token and address. The token is "" before the player has one.
type identity struct{ user, token, address string }

func newBenchPlayers(name string, count int, server string, address func(int) string,
	hand *bench.Hand) *benchPlayers {
	t := &benchPlayers{name: name, count: count, server: server, address: address, hand: hand,
		pools: map[int]*http.Transport{}}
	t.forget()
	return t
}

// forget drops the players, so that new ones are created.
func (t *benchPlayers) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = make([]identity, t.count)
	for i := range t.known {
		if t.address != nil {
			t.known[i].address = t.address(i)
		}
	}
}

// mint makes token mint with the server's secret.
func (t *benchPlayers) mint(c *benchCmd) (err error) {
	t.minter, err = auth.NewPlayers(auth.PlayersOptions{Secret: c.JWTSecret, Audience: c.JWTAudience,
		Issuer: c.JWTIssuer, Log: slog.New(slog.DiscardHandler)})
	return err
}

func (t *benchPlayers) of(player int) identity {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[player]
}

// user returns a player's name; "" before the player has a token.
func (t *benchPlayers) user(player int) string { return t.of(player).user }

// users returns the names of the players with a token.
func (t *benchPlayers) users() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	users := map[string]bool{}
	for _, p := range t.known {
		if p.token != "" {
			users[p.user] = true
		}
	}
	return users
}

// token returns a player's token, and creates it at the first call.
func (t *benchPlayers) token(ctx context.Context, player int) (string, error) {
	known := t.of(player)
	if known.token != "" {
		return known.token, nil
	}
	made, err := t.make(ctx, player)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	made.address = known.address
	t.known[player] = made
	return made.token, nil
}

func (t *benchPlayers) make(ctx context.Context, player int) (made identity, err error) {
	if t.minter != nil {
		made.user = t.name + "-" + strconv.Itoa(player)
		made.token, _, err = t.minter.Mint(auth.Persona{User: made.user}, 24*time.Hour) // longer than any run
		return made, err
	}
	api, err := t.client(player, "")
	if err != nil {
		return identity{}, err
	}
	guest, err := api.Guest(ctx)
	return identity{user: guest.User, token: guest.Token}, err
}

// makeGuests creates the guests of a side, with the proof of work that the server requires. If the server refuses more
// guests of an address for long, the existing ones play.
func (t *benchPlayers) makeGuests(ctx context.Context, say func(format string, args ...any)) error {
	const shortWait = 10 * time.Second // for one guest
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	var full atomic.Bool
	for i := range t.count {
		g.Go(func() error {
			for !full.Load() {
				_, err := t.token(ctx, i)
				refusal, refused := errors.AsType[*client.Error](err)
				switch {
				case !refused || refusal.RetryAfter() == 0:
					return err
				case refusal.RetryAfter() > shortWait:
					say("no more guests of %s: %v", t.name, err)
					full.Store(true)
				case !bench.Pause(ctx, refusal.RetryAfter()):
					return ctx.Err()
				}
			}
			return nil
		})
	}
	err := g.Wait()
	say("%d of %d guests of %s are made", len(t.users()), t.count, t.name)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.worked += time.Since(began)
	return err
}

// turn requests a player's position in a waiting room.
func (t *benchPlayers) turn(ctx context.Context, player int, token, campaign string) (a openapi.Admission, err error) {
	me, err := t.client(player, token)
	if err != nil {
		return a, err
	}
	return me.Turn(ctx, campaign)
}

const forwardedFor = "X-Forwarded-For"

// header returns the header with a player's simulated address.
func (t *benchPlayers) header(player int) http.Header {
	if t.address == nil {
		return nil
	}
	return http.Header{forwardedFor: {t.of(player).address}}
}

// client sends requests from the player's own address, because the server limits guests for each address.
func (t *benchPlayers) client(player int, token string) (*client.Client, error) {
	var by http.RoundTripper
	if t.address != nil {
		by = forwarded{t.of(player).address, t.pool(anySource)}
	} else {
		by = t.pool(player / bench.PerAddress)
	}
	return client.New(client.Options{Server: t.server, Token: token, HTTPClient: &http.Client{Transport: by}})
}

const anySource = -1

// pool returns the connections from an address; bench.PerAddress players share one.
func (t *benchPlayers) pool(address int) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pools[address] == nil {
		pool := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's
		pool.MaxIdleConnsPerHost = 64                           // the number of requests at the same time
		if address != anySource {
			pool.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
				from := bench.SourceAddress(to, address*bench.PerAddress)
				return (&net.Dialer{Timeout: 10 * time.Second, LocalAddr: from}).DialContext(ctx, network, to)
			}
		}
		t.pools[address] = pool
	}
	return t.pools[address]
}

// forwarded sends requests on behalf of an address, like a proxy.
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

// check creates the first player, so that wrong settings show before the others connect.
func (t *benchPlayers) check(ctx context.Context) error {
	_, err := t.token(ctx, 0)
	if client.HasStatus(err, http.StatusForbidden) {
		return fmt.Errorf("%w; give --jwt-secret, the server's, to mint tokens", err)
	}
	return err
}

func (t *benchPlayers) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pool := range t.pools {
		pool.CloseIdleConnections()
	}
}
