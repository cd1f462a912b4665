package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab"
	"redrain/grab/confirm"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/room"
	"redrain/server/cluster"
	"redrain/server/live"
	"redrain/server/servertest"
)

// neighbours are a gateway's back ends, as the test needs them. The zero value admits all players and knows of nothing.
type neighbours struct {
	tap    func(t *grab.Tap[TapOrigin]) (outcome.Result, bool) // nil: every drop is empty
	wins   func(user string) ([]rain.Win, error)
	states func(user string) (map[string]ledger.ClaimState, error)
	allow  func(key string) (bool, error)

	notYet []rain.Win // won, but unconfirmed: the player may not be notified yet

	door        turns
	connections connected

	mu         sync.Mutex
	remembered []rain.Win
	unsure     []rain.Win
	told       []rain.Win // settled
	forgotten  []string
}

// Grant takes the player's name as the token, or "<name> <when it expires, Unix ms>".
func (n *neighbours) Grant(_ context.Context, token string) (auth.Grant, error) {
	user, until, limited := strings.Cut(token, " ")
	g := auth.Grant{User: user, Until: time.Now().Add(time.Hour).UnixMilli()}
	if limited {
		var err error
		if g.Until, err = strconv.ParseInt(until, 10, 64); err != nil {
			return auth.Grant{}, err
		}
	}
	if user == "" {
		return auth.Grant{}, errors.New("no token")
	}
	return g, nil
}

func (n *neighbours) Tap(t *grab.Tap[TapOrigin]) (outcome.Result, bool) {
	if n.tap == nil {
		return outcome.Result{Outcome: outcome.Empty}, true
	}
	return n.tap(t)
}

// do changes the records under the lock.
func (n *neighbours) do(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *neighbours) Remember(_ string, wins []rain.Win) {
	n.do(func() { n.remembered = append(n.remembered, wins...) })
}

func (n *neighbours) RememberUnsure(_ string, wins []rain.Win) {
	n.do(func() { n.unsure = append(n.unsure, wins...) })
}

func (n *neighbours) Settled(_ string, win rain.Win) (news bool) {
	n.do(func() {
		if news = !slices.Contains(n.told, win); news {
			n.told = append(n.told, win)
		}
	})
	return news
}

func (n *neighbours) Forget(user string) { n.do(func() { n.forgotten = append(n.forgotten, user) }) }

func (n *neighbours) PlayersWins(_ context.Context, _ *rain.Campaign, user string) (confirm.PlayersWins, error) {
	found := confirm.PlayersWins{Unconfirmed: n.notYet}
	var err error
	if n.wins != nil {
		found.Confirmed, err = n.wins(user)
	}
	found.Total = len(found.Confirmed) + len(found.Unconfirmed)
	return found, err
}

func (n *neighbours) ClaimStates(_ context.Context, user string, _ []string) (map[string]ledger.ClaimState, error) {
	if n.states == nil {
		return nil, nil
	}
	return n.states(user)
}

func (n *neighbours) Allow(_ context.Context, _, key string, _, _ float64) (bool, time.Duration, error) {
	if n.allow == nil {
		return true, 0, nil
	}
	ok, err := n.allow(key)
	return ok, time.Second, err
}

// turns is a fake admission. The zero value admits all players.
type turns struct {
	turn func(campaign, user string) (store.Turn, error)

	mu   sync.Mutex
	left []string // campaign, player, and whether they have said that they go
}

func (d *turns) Enter(_ context.Context, c *rain.Campaign, user string) (store.Turn, error) {
	if d.turn == nil {
		return store.Turn{Admitted: true}, nil
	}
	return d.turn(c.ID, user)
}

func (d *turns) Leave(campaign, user string, left bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(d.left, fmt.Sprintf("%s %s %v", campaign, user, left))
}

func (d *turns) gone() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.left)
}

// connected notes the connections that are there.
type connected struct {
	mu   sync.Mutex
	list map[string][]uint64 // by player, in the order in which they came
}

func (c *connected) Come(_ context.Context, user string, n uint64, _ int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list[user] = append(c.list[user], n)
}

func (c *connected) Gone(user string, n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list[user] = slices.DeleteFunc(c.list[user], func(is uint64) bool { return is == n })
}

func (c *connected) of(user string) []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list[user])
}

// The gateway of a test, behind a real HTTP server.
type door struct {
	*testing.T
	gateway  *Gateway
	lobby    *room.Lobby
	campaign *rain.Campaign
	url      string
	metrics  *prometheus.Registry
	log      *servertest.Log
}

// openDoor makes a gateway with a campaign "c", and opens it. change may change its options.
func openDoor(t *testing.T, n *neighbours, change func(*Options)) *door {
	t.Helper()
	n.connections.list = map[string][]uint64{}
	d := &door{
		T: t, metrics: prometheus.NewRegistry(), log: &servertest.Log{},
		campaign: &rain.Campaign{
			ID:        "c",
			Status:    rain.Open,
			Revision:  1,
			ExpiresAt: time.Now().Add(time.Hour).UnixMilli(),
		},
	}
	log := slog.New(slog.NewTextHandler(d.log, nil))
	recoverer, err := loop.NewRecoverer(d.metrics, log, nil)
	testenv.Must(t, err)
	d.lobby = room.NewLobby(room.Options{Log: log, ResultsMax: Replies(20)}) // as the server makes it
	o := Options{
		Players: n, Wins: n, Claims: n, Limits: n, Door: &n.door,
		Connections: &n.connections, Lobby: d.lobby, Counts: live.NewCounts(),
		Campaigns: cluster.NewRegistry(cluster.RegistryOptions{
			Source: servertest.Campaigns{"c": d.campaign}, Known: cluster.NewKnown(), Log: log,
		}),
		Gate: func(*rain.Campaign) Gate { return n },
		Problem: func(w http.ResponseWriter, status int, code,
			detail string) {
			http.Error(w, code+": "+detail, status)
		},
		TapRate: 20, MaxConnections: 100, Recoverer: recoverer, Log: log, Registerer: d.metrics,
		Clock:   func() int64 { return time.Now().UnixMilli() },
		Banned:  func(string) bool { return false },
		MayPlay: func(context.Context, *rain.Campaign, string, string) error { return nil },
	}
	if change != nil {
		change(&o)
	}
	d.gateway = New(o)
	stop := testenv.Run(t, d.lobby.Run)
	web := httptest.NewServer(d.gateway)
	d.url = "ws" + strings.TrimPrefix(web.URL, "http")
	t.Cleanup(func() {
		within, done := context.WithTimeout(context.Background(), 10*time.Second)
		defer done()
		d.gateway.Drain(within)
		web.Close()
		stop()
	})
	return d
}

// client is a player's side of a connection.
type client struct {
	*testing.T
	conn *websocket.Conn
	said []json.RawMessage // received and not yet asked for: several messages come in one frame
}

// connect opens a connection.
func (d *door) connect() *client {
	d.Helper()
	conn, _, err := (&websocket.Dialer{Subprotocols: []string{wire.Subprotocol}}).Dial(d.url, nil)
	testenv.Must(d, err)
	d.Cleanup(func() { _ = conn.Close() })
	return &client{T: d.T, conn: conn}
}

// play connects a player and says hello.
func (d *door) play(user string) *client {
	d.Helper()
	c := d.hello(user)
	c.hear("welcome")
	return c
}

// hello connects a player and sends a hello for the campaign "c".
func (d *door) hello(token string) *client {
	d.Helper()
	c := d.connect()
	c.say(`{"type":"hello","id":0,"token":"` + token + `","campaign":"c"}`)
	return c
}

// ping waits until all that the player has said was read.
func (c *client) ping() {
	c.Helper()
	c.say(`{"type":"ping","id":1,"t":1}`)
	c.hear("pong")
}

// emptied waits until so many connections are left.
func (d *door) emptied(left int64) {
	d.Helper()
	testenv.Eventually(d, 10*time.Second, "the others have gone",
		func() bool { return d.gateway.limit.taken.Load() == left })
}

func (c *client) say(message string) {
	c.Helper()
	testenv.Must(c, c.conn.WriteMessage(websocket.TextMessage, []byte(message)))
}

// next is the next message, or the error that ends the connection.
func (c *client) next() (json.RawMessage, error) {
	for len(c.said) == 0 {
		if err := c.conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return nil, err
		}
		_, frame, err := c.conn.ReadMessage()
		if err != nil {
			return nil, err
		}
		for line := range strings.SplitSeq(string(frame), "\n") {
			c.said = append(c.said, json.RawMessage(line))
		}
	}
	message := c.said[0]
	c.said = c.said[1:]
	return message, nil
}

// hear returns the next message of a type, and passes over others.
func (c *client) hear(kind string) string {
	c.Helper()
	for {
		message, err := c.next()
		if err != nil {
			c.Fatalf("waiting for %s: %v", kind, err)
		}
		if strings.Contains(string(message), `"type":"`+kind+`"`) {
			return string(message)
		}
	}
}

// closed waits for the end of the connection and returns its code.
func (c *client) closed() int {
	c.Helper()
	for {
		_, err := c.next()
		if err == nil {
			continue
		}
		end, ok := errors.AsType[*websocket.CloseError](err)
		if !ok {
			c.Fatalf("the connection ended without a code: %v", err)
		}
		return end.Code
	}
}
