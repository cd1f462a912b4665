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
	"time"

	"redrain/internal/auth"
	"redrain/internal/bench"
	"redrain/internal/operator"
)

// identities are the names and tokens of the simulated players: minted users, or guests.
type identities struct {
	name   string // of the run; minted users' names begin with it
	server string
	minter *auth.Players // nil: guests
	http   *http.Client  // for what the players ask about themselves

	mu      sync.Mutex
	users   []string
	tokens  []string
	clients map[int]*http.Client // by the address that players connect from
}

// benchTTL is the lifetime of a minted token: longer than any run.
const benchTTL = 24 * time.Hour

// newIdentities makes the first player, so that mistakes in the settings show before all the others connect.
func newIdentities(ctx context.Context, c *benchCmd, name, server string) (*identities, error) {
	t := &identities{name: name, server: server, users: make([]string, c.Players), tokens: make([]string, c.Players),
		clients: map[int]*http.Client{}}
	shared := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's
	shared.MaxIdleConnsPerHost = 64
	t.http = &http.Client{Transport: shared}
	if c.JWTSecret != "" {
		minter, err := auth.NewPlayers(auth.PlayersOptions{Secret: c.JWTSecret, Audience: c.JWTAudience,
			Issuer: c.JWTIssuer, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		t.minter = minter
	}
	_, err := t.token(ctx, 0)
	if operator.HasStatus(err, http.StatusForbidden) {
		err = fmt.Errorf("%w; give --jwt-secret, the server's, to mint tokens", err)
	}
	return t, err
}

// token is a player's token, made at the first call.
func (t *identities) token(ctx context.Context, player int) (string, error) {
	t.mu.Lock()
	token := t.tokens[player]
	t.mu.Unlock()
	if token != "" {
		return token, nil
	}
	user, token, err := t.make(ctx, player)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users[player], t.tokens[player] = user, token
	return token, nil
}

func (t *identities) make(ctx context.Context, player int) (user, token string, err error) {
	if t.minter != nil {
		user = t.name + "-" + strconv.Itoa(player)
		token, _, err = t.minter.Mint(user, benchTTL)
		return user, token, err
	}
	client, err := operator.New(operator.Options{Server: t.server, HTTPClient: t.client(player)})
	if err != nil {
		return "", "", err
	}
	guest, err := client.Guest(ctx)
	return guest.User, guest.Token, later(err)
}

// later has a simulated player come back when the server says.
func later(err error) error {
	if refusal, ok := errors.AsType[*operator.Error](err); ok && refusal.RetryAfter() > 0 {
		return &bench.LaterError{After: refusal.RetryAfter(), Err: err}
	}
	return err
}

// turn asks for a player's turn in a waiting room, from the address that the player connects from.
func (t *identities) turn(ctx context.Context, player int, token, campaign string) (bench.Turn, error) {
	return askTurn(ctx, t.server, t.client(player), token, campaign)
}

// askTurn asks a server for the turn of the player with a token.
func askTurn(ctx context.Context, server string, with *http.Client, token, campaign string) (bench.Turn, error) {
	me, err := operator.New(operator.Options{Server: server, Token: token, HTTPClient: with})
	if err != nil {
		return bench.Turn{}, err
	}
	turn, err := me.Turn(ctx, campaign)
	return bench.Turn{Admitted: turn.Admitted, Place: turn.Position,
		Retry: time.Duration(turn.RetryAfterMS) * time.Millisecond}, err
}

// client asks from the address that the player connects from, because the server limits guests for each address.
func (t *identities) client(player int) *http.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := player / bench.PerAddress
	if c := t.clients[key]; c != nil {
		return c
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's
	transport.MaxIdleConnsPerHost = 64                           // as many as ask at the same time
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{Timeout: 10 * time.Second, LocalAddr: bench.SourceAddress(address, player)}
		return d.DialContext(ctx, network, address)
	}
	t.clients[key] = &http.Client{Transport: transport}
	return t.clients[key]
}

// user is the name under which a player plays; "" before the player has a token.
func (t *identities) user(player int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.users[player]
}

func (t *identities) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.clients {
		c.CloseIdleConnections()
	}
	t.http.CloseIdleConnections()
}
