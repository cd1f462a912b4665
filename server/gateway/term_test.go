package gateway

import (
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/room"
)

// A term ends when its last token does by the cluster's clock, though the machine's runs otherwise, and once.
func TestATermEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var behind atomic.Int64 // of the cluster's clock
		clock := func() int64 { return time.Now().UnixMilli() - behind.Load() }
		var ended atomic.Int64
		begun := time.Now()
		tm := term{clock: clock, lapsed: func() { ended.Add(1) }}
		if tm.over() {
			t.Error("it is over before it has begun")
		}
		if !tm.extend(clock()+60_000) || !tm.extend(clock()+120_000) {
			t.Error("a token that is good is refused")
		}
		if tm.extend(clock()) || tm.until() != begun.UnixMilli()+120_000 {
			t.Error("a token that has expired is taken")
		}
		pass(119 * time.Second)
		behind.Store(5_000)
		pass(5 * time.Second)
		if ended.Load() != 0 || tm.over() {
			t.Error("it has ended before its time")
		}
		pass(time.Second)
		synctest.Wait()
		if ended.Load() != 1 || !tm.over() {
			t.Errorf("it has ended %d times at its time", ended.Load())
		}

		tm = term{clock: clock, lapsed: func() { ended.Add(1) }}
		tm.extend(clock() + 1_000)
		tm.end()
		tm.extend(clock() + 1_000)
		pass(time.Minute)
		testenv.Equal(t, ended.Load(), 1, "ends, after the connection")
		tm = term{clock: clock, lapsed: func() { ended.Add(1) }}
		tm.extend(1 << 62) // longer than a timer can run
		pass(3 * longestTimer)
		testenv.Equal(t, ended.Load(), 1, "ends, with the longest token")
		tm.end()
	})
}

// A connection plays as long as its token is good and not a tap longer, also where its timer is late; a new token of
// the same player prolongs it, and nothing else does.
func TestAConnectionEndsWithItsToken(t *testing.T) {
	var taps atomic.Int64
	n := &neighbours{tap: func(*grab.Tap[Asked]) (outcome.Result, bool) {
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
