package e2e

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"

	"github.com/golang-jwt/jwt/v5"
	"github.com/gorilla/websocket"

	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
)

// TestBadMessages: what makes no sense gets its error, who goes on is sent away, and a player beside them notices
// nothing.
func TestBadMessages(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	n := startNode(t, setting{}.config())
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "bad", 1_000, 10), "")
	if err != nil {
		t.Fatal(err)
	}
	bystander := join(t, n, "bystander", c.ID)

	t.Run("each gets its error", func(t *testing.T) {
		p := join(t, n, "clumsy", c.ID)
		for i, bad := range []struct{ text, code string }{
			{`nonsense`, wire.CodeMalformed},
			{`[1,2]`, wire.CodeMalformed},
			{`{"type":"dance","id":7}`, wire.CodeUnknownType},
			{`{"type":"hello","id":8,"token":"x","campaign":"y"}`, wire.CodeAlreadyHello},
			{`{"type":"join","id":9,"campaign":"nowhere"}`, wire.CodeUnknownCampaign},
		} {
			raw(t, p, websocket.TextMessage, bad.text)
			p.await(t, 20*time.Second, "error for "+bad.text, func() bool { return len(p.errors) > i })
			p.mu.Lock()
			if got := p.errors[i]; got.Code != bad.code || got.Message == "" {
				t.Errorf("%s: %+v, want code %s", bad.text, got, bad.code)
			}
			p.mu.Unlock()
		}
		// Still in the room, and served.
		if r := p.answered(t, p.tap("1.2")); r.Outcome != "not_open" {
			t.Errorf("a tap without a rain: %+v", r)
		}
		if r := p.answered(t, p.tap("07.3")); r.Outcome != "unknown_drop" && r.Outcome != "not_open" {
			t.Errorf("a drop that cannot be: %+v", r)
		}
	})
	t.Run("who goes on is sent away", func(t *testing.T) {
		p := join(t, n, "stubborn", c.ID)
		for range 100 {
			if p.conn.WriteMessage(websocket.TextMessage, []byte(`{}`)) != nil {
				break // closed already
			}
		}
		wantClose(t, p, room.CodeTooManyBad)
	})
	for name, bad := range map[string]struct {
		kind, code int
		text       string
	}{
		"binary": {websocket.BinaryMessage, websocket.CloseUnsupportedData, `{"type":"ping"}`},
		"too large": {websocket.TextMessage, websocket.CloseMessageTooBig,
			`{"type":"ping","x":"` + strings.Repeat("x", wire.MaxRequest) + `"}`},
		"not UTF-8": {websocket.TextMessage, websocket.CloseInvalidFramePayloadData, "{\"type\":\"\xff\"}"},
	} {
		t.Run(name, func(t *testing.T) {
			p := join(t, n, "broken", c.ID)
			raw(t, p, bad.kind, bad.text)
			wantClose(t, p, bad.code)
		})
	}
	t.Run("tap before hello", func(t *testing.T) {
		p := dial(t, n)
		raw(t, p, websocket.TextMessage, `{"type":"tap","id":1,"drop":"0.0"}`)
		wantClose(t, p, room.CodeProtocol)
	})
	t.Run("no hello in time", func(t *testing.T) {
		p := dial(t, n)
		wantClose(t, p, room.CodeProtocol)
		if closed, ok := errors.AsType[*websocket.CloseError](p.closed); !ok || closed.Text != "no hello in time" {
			t.Errorf("%v: clients know by this very reason that they may come back", p.closed)
		}
	})
	t.Run("unknown campaign", func(t *testing.T) {
		p := dial(t, n)
		p.say(t, map[string]any{"type": "hello", "token": token(t, "lost"), "campaign": "nowhere"})
		wantClose(t, p, room.CodeUnknownCampaign)
	})

	bystander.mu.Lock()
	defer bystander.mu.Unlock()
	if bystander.closed != nil || len(bystander.errors) > 0 {
		t.Errorf("the bystander was disturbed: %v %v", bystander.closed, bystander.errors)
	}
}

// TestBadTokens: every token that is not good is refused with 4500.
func TestBadTokens(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	n := startNode(t, setting{}.config())
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "tokens", 1_000, 10), "")
	if err != nil {
		t.Fatal(err)
	}
	sign := func(method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
		s, err := jwt.NewWithClaims(method, claims).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	hour := time.Now().Add(time.Hour).Unix()
	for name, bad := range map[string]string{
		"none":    "",
		"garbage": "a.b.c",
		"expired": sign(jwt.SigningMethodHS256, []byte(jwtSecret),
			jwt.MapClaims{"sub": "u", "exp": time.Now().Add(-time.Hour).Unix()}),
		"no exp":      sign(jwt.SigningMethodHS256, []byte(jwtSecret), jwt.MapClaims{"sub": "u"}),
		"no sub":      sign(jwt.SigningMethodHS256, []byte(jwtSecret), jwt.MapClaims{"exp": hour}),
		"control sub": sign(jwt.SigningMethodHS256, []byte(jwtSecret), jwt.MapClaims{"sub": "a\nb", "exp": hour}),
		"other secret": sign(jwt.SigningMethodHS256, []byte("another secret that is long enough"),
			jwt.MapClaims{"sub": "u", "exp": hour}),
		"alg none": sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType,
			jwt.MapClaims{"sub": "u", "exp": hour}),
		"other alg": sign(jwt.SigningMethodHS512, []byte(jwtSecret), jwt.MapClaims{"sub": "u", "exp": hour}),
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, n)
			p.say(t, map[string]any{"type": "hello", "token": bad, "campaign": c.ID})
			wantClose(t, p, room.CodeBadToken)
		})
	}
}

// TestOrigins: a page of another site cannot open a socket, unless it is listed.
func TestOrigins(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	cfg := setting{}.config()
	cfg.AllowedOrigins = []string{"https://party.example"}
	n := startNode(t, cfg)
	for origin, want := range map[string]int{
		n.url: 0, "https://party.example": 0, "https://evil.example": room.CodeOrigin, "null": room.CodeOrigin,
	} {
		d := websocket.Dialer{Subprotocols: []string{wire.Subprotocol}}
		conn, _, err := d.DialContext(t.Context(), n.ws(), http.Header{"Origin": {origin}})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		if err := conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"ping","id":1,"t":1}`)); err != nil {
			t.Error(err)
		}
		if _, _, err := conn.ReadMessage(); err != nil {
			var closed *websocket.CloseError
			if !errors.As(err, &closed) {
				t.Fatal(err)
			}
			got = closed.Code
		}
		if got != want {
			t.Errorf("origin %s: close code %d, want %d", origin, got, want)
		}
		_ = conn.Close()
	}
}

// TestTapRate: more taps than allowed are too_fast, and the others are not.
func TestTapRate(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	cfg := setting{}.config()
	cfg.TapRate = 5
	n := startNode(t, cfg)
	spec := fund(t, n, "rate", 100_000, 1_000)
	spec.WinsPerUser = 1_000
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), spec, "")
	if err != nil {
		t.Fatal(err)
	}
	dense := shortRain(100)
	dense.DropsPerSecond, dense.FallMS = 200, 10_000
	if _, err := n.client.StartRain(within(t, 10*time.Second), c.ID, dense, ""); err != nil {
		t.Fatal(err)
	}
	p := join(t, n, "bot", c.ID)
	p.aDrop(t)
	p.mu.Lock()
	var drops []string
	for _, w := range p.waves {
		if time.Now().UnixMilli()+p.offset > w.At {
			for _, d := range w.Drops {
				if d[2] == int(rain.Packet) {
					drops = append(drops, rain.DropID{N: w.N, K: d[0]}.String())
				}
			}
		}
	}
	p.mu.Unlock()
	taps, outcomes := make([]wire.ID, len(drops)), map[string]int{}
	for i, d := range drops { // all at once, however long an answer takes
		taps[i] = p.tap(d)
	}
	for _, id := range taps {
		outcomes[p.answered(t, id).Outcome]++
	}
	if outcomes["too_fast"] == 0 || outcomes["won"] < cfg.TapRate {
		t.Errorf("%d taps at once with %d a second allowed: %v", len(drops), cfg.TapRate, outcomes)
	}
}

func raw(t *testing.T, p *player, kind int, text string) {
	t.Helper()
	p.writing.Lock()
	defer p.writing.Unlock()
	if err := p.conn.WriteMessage(kind, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func wantClose(t *testing.T, p *player, code int) {
	t.Helper()
	if got := p.closeCode(t); got != code {
		t.Errorf("close code %d, want %d", got, code)
	}
}
