package baseline

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const secret = "secret-of-the-tests-that-is-long-enough"

// start runs a server until the test ends.
func start(t *testing.T, dsn string) *Server {
	t.Helper()
	s, err := New(t.Context(), Options{
		Listen: "127.0.0.1:0", Redis: testenv.Redis(t), MySQL: dsn, Secret: secret, Prefix: testenv.Namespace(t),
		Settlers: 4,
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func post(t *testing.T, s *Server, path string, what any) {
	t.Helper()
	body, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post(s.URL()+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("POST %s is answered %s", path, resp.Status)
	}
}

func create(t *testing.T, s *Server, c Campaign) {
	t.Helper()
	post(t, s, "/campaigns", c)
}

// player is a client that reads one message after the other.
type player struct {
	t    *testing.T
	conn *websocket.Conn
	rest [][]byte // of a frame with several messages
}

func join(t *testing.T, s *Server, user, campaign string) *player {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256,
		jwt.MapClaims{"sub": user, "exp": time.Now().Add(time.Hour).Unix()}).SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.URL(), "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p := &player{t: t, conn: conn}
	p.say(map[string]any{"type": "hello", "id": 1, "token": token, "campaign": campaign})
	if w := next[wire.Welcome](p, "welcome"); w.User != user || w.Campaign.ID != campaign || w.ServerTime == 0 {
		t.Fatalf("the welcome is %+v", w)
	}
	return p
}

func (p *player) say(message any) {
	p.t.Helper()
	if err := p.conn.WriteJSON(message); err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) tap(id int, drop string) wire.Result {
	p.t.Helper()
	p.say(map[string]any{"type": "tap", "id": id, "drop": drop})
	r := next[wire.Result](p, "result")
	if string(r.ID) != fmt.Sprint(id) || r.Drop != drop {
		p.t.Fatalf("tap %d on %s is answered %+v", id, drop, r)
	}
	return r
}

// next reads until there is a message of the type.
func next[T any](p *player, kind string) (message T) {
	p.t.Helper()
	for {
		if len(p.rest) == 0 {
			if err := p.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
				p.t.Fatal(err)
			}
			_, data, err := p.conn.ReadMessage()
			if err != nil {
				p.t.Fatalf("no %s: %v", kind, err)
			}
			p.rest = bytes.Split(data, []byte("\n"))
		}
		line := p.rest[0]
		p.rest = p.rest[1:]
		var is struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(line, &is); err != nil {
			p.t.Fatal(err)
		}
		if is.Type != kind {
			continue
		}
		if err := json.Unmarshal(line, &message); err != nil {
			p.t.Fatal(err)
		}
		return message
	}
}

func TestEachPacketIsWonOnceAndPaidOnce(t *testing.T) {
	const packets, amount = 50, 7
	dsn := testenv.MySQL(t)
	s := start(t, dsn)
	create(t, s, Campaign{ID: "c1", Packets: packets, Amount: amount})
	won := map[string]bool{}
	for u := range 5 {
		p := join(t, s, fmt.Sprintf("user %d", u), "c1")
		for i := range 12 {
			switch r := p.tap(i, fmt.Sprintf("%d.0", i)); r.Outcome {
			case "won":
				if won[r.Packet] || r.Amount != amount {
					t.Fatalf("won again, or another amount: %+v", r)
				}
				won[r.Packet] = true
			case "sold_out":
				if len(won) != packets {
					t.Fatalf("sold out after %d packets", len(won))
				}
			default:
				t.Fatalf("the outcome is %+v", r)
			}
		}
		if r := p.tap(99, "0.0"); u < 4 && r.Outcome != "already" {
			t.Fatalf("the same drop again: %+v", r)
		}
	}
	if len(won) != packets {
		t.Fatalf("%d of %d packets are won", len(won), packets)
	}

	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	sums := func(query string) (n, sum int64) {
		if err := db.QueryRow(query).Scan(&n, &sum); err != nil {
			t.Fatal(err)
		}
		return n, sum
	}
	testenv.Eventually(t, 20*time.Second, "all is paid", func() bool {
		n, _ := sums("SELECT COUNT(*), COALESCE(SUM(amount), 0) FROM payout")
		return n == packets
	})
	if n, sum := sums("SELECT COUNT(*), SUM(amount) FROM entry"); n != 2*packets || sum != 0 {
		t.Errorf("%d entries add up to %d", n, sum)
	}
	if n, sum := sums("SELECT COUNT(*), SUM(amount) FROM balance WHERE account_id LIKE 'user:%'"); n != 5 ||
		sum != packets*amount {
		t.Errorf("%d players have %d", n, sum)
	}
}

func TestWavesComeToWhoIsThereAndWhoComesLater(t *testing.T) {
	s := start(t, "")
	create(t, s, Campaign{ID: "c1", Packets: 1, Amount: 1})
	first := join(t, s, "u1", "c1")
	now := int64(0)
	post(t, s, "/campaigns/c1/rains", rain.RainSpec{
		StartsInMS: &now, Settings: rain.Settings{DurationMS: 60_000, DropsPerSecond: 8, FallMS: 20_000},
	})
	if r := next[wire.RainChange](first, "rain"); r.Rain.ID != "c1" {
		t.Fatalf("the rain is %+v", r)
	}
	w := next[wave](first, "wave")
	if w.N != 0 || w.Rain != "c1" || len(w.Drops) != 2 || w.At == 0 {
		t.Fatalf("the first wave is %+v", w)
	}
	next[wave](first, "wave")
	later := join(t, s, "u2", "c1")
	for n := range int64(3) {
		if w := next[wave](later, "wave"); w.N != n {
			t.Fatalf("wave %d comes as %d", n, w.N)
		}
	}
}

func TestAStrangerIsSentAway(t *testing.T) {
	s := start(t, "")
	create(t, s, Campaign{ID: "c1", Packets: 1, Amount: 1})
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.URL(), "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.WriteJSON(map[string]any{"type": "hello", "token": "forged", "campaign": "c1"}); err != nil {
		t.Fatal(err)
	}
	if _, data, err := conn.ReadMessage(); err == nil {
		t.Fatalf("a forged token is answered %s", data)
	}
}
