package gateway

import (
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/room"
)

// A silent connection ends when its last token does by the cluster's clock, though the machine's runs otherwise.
func TestATokenEndsByTheClustersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var behind atomic.Int64 // of the cluster's clock
		clock := func() int64 { return time.Now().UnixMilli() - behind.Load() }
		told := &recorder{}
		const never = 24 * time.Hour
		lobby := room.NewLobby(room.Options{PingEvery: never, PongWait: never, Log: slog.New(slog.DiscardHandler)})
		s := newSession(&shared{o: Options{Lobby: lobby, Clock: clock}}, nil,
			&takeover{socket: room.NewSocket(told)}, "")
		begun := clock()
		if s.hasExpired() || !s.extend(begun+3*time.Hour.Milliseconds()) ||
			!s.extend(begun+2*time.Hour.Milliseconds()) {
			t.Error("a token that is good is refused")
		}
		if s.extend(begun) || s.ends.Load() != begun+2*time.Hour.Milliseconds() {
			t.Error("a token that has expired is taken")
		}
		pass(119 * time.Minute)
		behind.Store(5_000)
		pass(time.Minute + 4*time.Second)
		synctest.Wait()
		if strings.Contains(told.all(), expired) || s.hasExpired() {
			t.Error("it has ended before its time")
		}
		pass(time.Second)
		synctest.Wait()
		if !strings.Contains(told.all(), expired) || !s.hasExpired() {
			t.Errorf("it has not ended at its time, but said %q", told.all())
		}
	})
}

// A connection plays as long as its token is valid and not a tap longer, even if its timer is late. Only a new token of
// the same player prolongs it.
func TestAConnectionEndsWithItsToken(t *testing.T) {
	var taps atomic.Int64
	n := &neighbours{tap: func(*grab.Tap[TapOrigin]) (outcome.Result, bool) {
		taps.Add(1)
		return outcome.Result{Outcome: outcome.Empty}, true
	}}
	var now atomic.Int64
	now.Store(time.Now().UnixMilli())
	d := openDoor(t, n, func(o *Options) { o.Clock = now.Load })
	first := now.Load() + time.Hour.Milliseconds()
	token := func(user string, until int64) string { return `"` + user + " " + strconv.FormatInt(until, 10) + `"` }
	c := d.connect()
	c.say(`{"type":"hello","token":` + token("u", first) + `,"campaign":"c"}`)
	testenv.Contains(t, c.hear("welcome"), `"token_expires_at":`+strconv.FormatInt(first, 10),
		"the welcome")
	for _, bad := range []struct{ token, code string }{
		{token("other", 2*first), "other_player"}, {token("u", now.Load()), "bad_token"}, {`"u x"`, "bad_token"},
	} {
		c.say(`{"type":"token","id":1,"token":` + bad.token + `}`)
		testenv.Contains(t, c.hear("error"), `"`+bad.code+`"`, "%s", bad.token)
	}
	second := first + time.Hour.Milliseconds()
	c.say(`{"type":"token","id":2,"token":` + token("u", second) + `}`)
	testenv.Contains(t, c.hear("token_renewed"), strconv.FormatInt(second, 10), "renewed")
	now.Store(second - 1)
	c.say(`{"type":"tap","id":3,"drop":"0.0"}`)
	c.hear("result")
	now.Store(second)
	c.say(`{"type":"tap","id":4,"drop":"0.1"}`)
	if code := c.closed(); code != room.CodeExpired || taps.Load() != 1 {
		t.Errorf("closed with %d after %d taps", code, taps.Load())
	}

	late := d.connect()
	late.say(`{"type":"hello","token":` + token("u", second) + `,"campaign":"c"}`)
	testenv.Equal(t, late.closed(), room.CodeExpired, "a hello with a token that has just expired")
	first = now.Load() + 50
	c = d.connect() // the clock stands still until the timer has fired
	c.say(`{"type":"hello","token":` + token("u", first) + `,"campaign":"c"}`)
	c.hear("welcome")
	now.Store(first)
	testenv.Equal(t, c.closed(), room.CodeExpired, "a silent connection")
}

// pass lets time pass, in a bubble of synctest.
func pass(d time.Duration) { <-time.After(d) }
