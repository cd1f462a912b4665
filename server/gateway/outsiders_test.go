package gateway

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/room"
)

// rulings say who may play, by player and campaign.
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

// Who may not take part is told why and sent away; where that cannot be told they come back; and who moves to a room
// that is not for them stays where they are.
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
			testenv.Contains(t, c.hear("error"), `"`+want.code+`"`, "%s is told", user)
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
	testenv.Eventually(t, 10*time.Second, "nobody who is gone is remembered", func() bool {
		return len(d.gateway.Present()) == 0
	})
}
