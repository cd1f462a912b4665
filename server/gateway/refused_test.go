package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/room"
	"redrain/server/risk"
)

// A hello counts against its address only if it is refused. After too many of those, good ones still come in, and bad
// ones cost no call of Redis.
func TestOnlyRefusedHellosCount(t *testing.T) {
	var asked, left atomic.Int64
	left.Store(3)
	n := &neighbours{allow: func(string) (bool, error) {
		asked.Add(1)
		return left.Add(-1) >= 0, nil
	}}
	var now atomic.Int64
	now.Store(time.Now().UnixMilli())
	d := openDoor(t, n, func(o *Options) { o.HelloRate, o.Clock = 1, now.Load })
	for i := range 20 {
		d.play(fmt.Sprint("u", i))
	}
	testenv.Equal(t, asked.Load(), 0, "counted good hellos")
	refused := func(hello string) int {
		t.Helper()
		c := d.connect()
		c.say(hello)
		return c.closed()
	}
	const bad, lost = `{"type":"hello","campaign":"c"}`, `{"type":"hello","token":"u","campaign":"x"}`
	for range 2 {
		testenv.Equal(t, refused(bad), room.CodeBadToken, "a bad token")
	}
	for range 2 {
		testenv.Equal(t, refused(lost), room.CodeUnknownCampaign, "an unknown campaign")
	}
	testenv.Equal(t, asked.Load(), 4, "counted refused hellos")
	// The fourth was one too many.
	testenv.Equal(t, refused(bad), room.CodeBadToken, "a bad token of an address that is over its limit")
	testenv.Equal(t, refused(lost), room.CodeUnavailable, "an unknown campaign, from an address that is over its limit")
	testenv.Equal(t, asked.Load(), 4, "questions to Redis")
	if code := refused(`{"type":"tap","id":1,"drop":"0.0"}`); code != room.CodeProtocol || asked.Load() != 4 {
		t.Errorf("a tap before hello: %d, asked %d times", code, asked.Load())
	}
	d.play("honest")
	testenv.Equal(t, testutil.ToFloat64(d.gateway.metrics.refused), 5, "hellos counted as refused")
	now.Add(2_000)
	left.Store(1)
	if code := refused(lost); code != room.CodeUnknownCampaign || asked.Load() != 5 {
		t.Errorf("later: %d, asked %d times", code, asked.Load())
	}
}

// rulings are the answers to "may this player play?", by player and campaign.
type rulings struct {
	mu sync.Mutex
	of map[string]error
}

func (r *rulings) mayPlay(_ context.Context, c *rain.Campaign, user, _ string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[user+" "+c.ID]
}

func (r *rulings) rule(user, campaign string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[user+" "+campaign] = err
}

// A player who may not take part gets the reason and is sent away. If the check fails, the player comes back later. A
// player who moves to a forbidden room stays in the old one.
func TestOutsiders(t *testing.T) {
	r := &rulings{of: map[string]error{
		"stranger c": standing.ErrNotInvited, "barred c": standing.ErrDenied,
		"later c": errors.New("the database is down"),
	}}
	d := openDoor(t, &neighbours{}, func(o *Options) { o.MayPlay = r.mayPlay })
	for user, want := range map[string]struct {
		code   string
		closes int
	}{
		"stranger": {wire.CodeNotInvited, room.CodeNotInvited}, "barred": {wire.CodeDenied, room.CodeSentAway},
		"later": {"", room.CodeUnavailable},
	} {
		c := d.hello(user)
		if want.code != "" {
			testenv.Contains(t, c.hear("error"), `"`+want.code+`"`, "the error for %s", user)
		}
		testenv.Equal(t, c.closed(), want.closes, "%s: closed with", user)
	}
	u := d.play("u")
	r.rule("u", "c", standing.ErrNotInvited)
	u.say(`{"type":"join","id":2,"campaign":"c"}`)
	testenv.Contains(t, u.hear("error"), wire.CodeNotInvited, "a join")
	var here []Present
	testenv.Eventually(t, 10*time.Second, "those who were sent away are gone", func() bool {
		here = d.gateway.Present()
		return len(here) == 1
	})
	if here[0].User != "u" || here[0].Campaign == nil || here[0].Campaign.ID != "c" {
		t.Fatalf("%+v", here)
	}
	d.gateway.SendAway(here[0], errors.New("something else"))
	u.ping()
	d.gateway.SendAway(here[0], standing.ErrNotInvited)
	if m := u.hear("error"); !strings.Contains(m, wire.CodeNotInvited) {
		t.Errorf("%v", m)
	}
	testenv.Equal(t, u.closed(), room.CodeNotInvited, "closed with")
	v := d.play("v")
	d.gateway.Denied("v")
	testenv.Equal(t, v.closed(), room.CodeSentAway, "closed with")
	testenv.Eventually(t, 10*time.Second, "no closed connection is remembered", func() bool {
		return len(d.gateway.Present()) == 0
	})
}

// The risk system is asked last and once. It is not asked about players who are refused anyway, nor at moves between
// rooms. A denied player gets the reason and gives up the slot. If the system does not answer, players come back later,
// and the log has no line for each.
func TestVetted(t *testing.T) {
	n := &neighbours{}
	r := &rulings{of: map[string]error{"stranger c": standing.ErrNotInvited}}
	var mu sync.Mutex
	asked := map[string]int{}
	d := openDoor(t, n, func(o *Options) {
		o.MayPlay = r.mayPlay
		o.Ask = func(_ context.Context, who risk.Caller) error {
			mu.Lock()
			defer mu.Unlock()
			asked[who.User]++
			if who.Campaign != "c" || who.Address == "" {
				t.Errorf("%+v", who)
			}
			return map[string]error{"barred": standing.ErrDenied, "unlucky": risk.ErrNoAnswer}[who.User]
		}
	})
	for user, closes := range map[string]int{"stranger": room.CodeNotInvited, "barred": room.CodeSentAway,
		"unlucky": room.CodeUnavailable} {
		c := d.hello(user)
		if user == "barred" {
			if m := c.hear("error"); !strings.Contains(m, `"`+wire.CodeDenied+`"`) {
				t.Errorf("%v", m)
			}
		}
		testenv.Equal(t, c.closed(), closes, "%s: closed with", user)
	}
	u := d.play("u")
	u.say(`{"type":"join","id":2,"campaign":"c"}`)
	u.hear("welcome")
	mu.Lock()
	defer mu.Unlock()
	if asked["stranger"] != 0 || asked["barred"] != 1 || asked["unlucky"] != 1 || asked["u"] != 1 {
		t.Errorf("asked %v", asked)
	}
	testenv.Eventually(t, 10*time.Second, "those who are turned away give up their seats", func() bool {
		gone := strings.Join(n.door.gone(), ", ")
		return strings.Contains(gone, "c barred true") && strings.Contains(gone, "c unlucky true")
	})
	if strings.Contains(d.log.String(), "cannot be let in") {
		t.Error(d.log.String())
	}
}
