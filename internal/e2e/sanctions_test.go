package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/room"
)

// TestAFrozenNodePaysNoBannedPlayer: a node is stopped before a ban, and goes on after the ban's answer with the banned
// player's taps in its sockets. It may report them a win; none of these is paid.
func TestAFrozenNodePaysNoBannedPlayer(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelFailover(t, testenv.Medium)
	s := realSetting(t)
	a, b := startProcess(t, s), startProcess(t, s)
	spec := fund(t, a.node, "frozen", 100_000, 1_000)
	spec.WinsPerUser = 1_000
	c := createCampaign(t, a.client, spec)
	p := join(t, b.node, "mallory", c.ID)
	startRain(t, a.client, c.ID, longRain(40))
	p.winOne(t)
	api := newAPIClient(t, a.node)
	testenv.Eventually(t, time.Minute, "the first win is paid", func() bool {
		return api.call("GET", "/users/mallory", "").field("balance") != "0"
	})

	b.Signal(syscall.SIGSTOP)
	p.mu.Lock()
	var drops []string
	for _, w := range p.waves {
		for _, d := range w.Drops {
			if d[2] == int(rain.Packet) {
				drops = append(drops, rain.DropID{N: w.N, K: d[0]}.String())
			}
		}
	}
	p.mu.Unlock()
	for _, d := range drops {
		p.tap(d)
	}
	api.want(api.call("POST", "/users/mallory/ban", `{"reason":"a bot"}`), http.StatusOK, "")
	b.Signal(syscall.SIGCONT)
	wantClose(t, p, room.CodeSentAway)
	testenv.Must(t, testenv.Err(a.client.CloseCampaign(within(t, 20*time.Second), c.ID)))
	testenv.Eventually(t, time.Minute, "everything of the campaign is in the ledger", func() bool {
		r, err := a.client.Reconciliation(within(t, 20*time.Second), c.ID)
		return err == nil && r.Balanced && r.Unsettled == 0
	})
	wantNothingAfterBan(t, a, "mallory")
	t.Log(fmt.Sprint(len(drops), " taps waited in the stopped node"))
}

// wantNothingAfterBan looks at each win of a player. A win before the ban is paid; a win after it is a dead letter, and
// there is one. The stop of a process takes a moment, so that a tap may still be before the ban.
func wantNothingAfterBan(t *testing.T, n *process, user string) {
	t.Helper()
	var u client.Player
	testenv.Must(t, json.Unmarshal(newAPIClient(t, n.node).call("GET", "/users/"+user, "").body, &u))
	claims := testenv.Got(client.Pages[client.Claim](n.client, nil, "users", user, "claims")(within(t, 20*time.Second),
		client.Page{Limit: 500})).Must(t)
	var paid rain.Money
	dead := 0
	for _, c := range claims.Items {
		switch before := c.At < u.Sanctions[0].At; {
		case before && c.State == client.ClaimSettled:
			paid += c.Amount
		case !before && c.State == client.ClaimDead:
			dead++
		default:
			t.Errorf("banned at %d: %+v", u.Sanctions[0].At, c)
		}
	}
	if u.Balance != paid || dead == 0 {
		t.Errorf("the balance is %d, won before the ban are %d; %d wins after it", u.Balance, paid, dead)
	}
}
