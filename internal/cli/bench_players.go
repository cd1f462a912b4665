package cli

import (
	"context"
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

// troupe is who the simulated players are: minted users, or guests.
type troupe struct {
	name   string // of the run; minted users' names begin with it
	server string
	minter *auth.Players // nil: guests
	http   *http.Client  // for what the players ask about themselves

	mu      sync.Mutex
	users   []string
	tokens  []string
	clients map[string]*operator.Client // by the address that the guests come from
}

// benchTTL is how long a minted token is good: longer than any run.
const benchTTL = 24 * time.Hour

// newTroupe makes the first player, so that what is wrong shows before all the others come.
func newTroupe(ctx context.Context, c *benchCmd, name, server string) (*troupe, error) {
	t := &troupe{name: name, server: server, users: make([]string, c.Players), tokens: make([]string, c.Players),
		clients: map[string]*operator.Client{}}
	shared := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's
	shared.MaxIdleConnsPerHost = 64
	t.http = &http.Client{Transport: shared}
	if c.JWTSecret != "" {
		minter, err := auth.NewPlayers(auth.PlayersOptions{Secret: c.JWTSecret,
			Log: slog.New(slog.DiscardHandler)})
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

// token is a player's token. It is the same each time.
func (t *troupe) token(ctx context.Context, player int) (string, error) {
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

func (t *troupe) make(ctx context.Context, player int) (user, token string, err error) {
	if t.minter != nil {
		user = t.name + "-" + strconv.Itoa(player)
		token, _, err = t.minter.Mint(user, benchTTL)
		return user, token, err
	}
	client, err := t.client(player)
	if err != nil {
		return "", "", err
	}
	guest, err := client.Guest(ctx)
	return guest.User, guest.Token, err
}

// client asks for guests from the address that the player comes from, as the server has a limit for each address.
func (t *troupe) client(player int) (*operator.Client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := strconv.Itoa(player / bench.PerAddress)
	if c := t.clients[key]; c != nil {
		return c, nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's
	transport.MaxIdleConnsPerHost = 64                           // as many as ask at the same time
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{Timeout: 10 * time.Second, LocalAddr: bench.SourceAddress(address, player)}
		return d.DialContext(ctx, network, address)
	}
	c, err := operator.New(operator.Options{Server: t.server, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		return nil, err
	}
	t.clients[key] = c
	return c, nil
}

// user is the name under which a player plays; "" before the player has a token.
func (t *troupe) user(player int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.users[player]
}

func (t *troupe) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.clients {
		c.Close()
	}
	t.http.CloseIdleConnections()
}
