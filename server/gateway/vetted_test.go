package gateway

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/payout/ledger/standing"
	"redrain/room"
	"redrain/server/risk"
)

// The risk system is asked last and once: not about who may not come in anyway, nor at moves from room to room. Who is
// denied is told so and gives up the seat; where it does not answer they come back, and the log has no line for each.
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
