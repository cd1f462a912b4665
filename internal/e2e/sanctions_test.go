package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"redrain/internal/operator"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/room"
)

// TestABanOverTwoNodes: who is banned at one node is gone from both, comes in at neither, wins nothing that is paid and
// withdraws nothing, until the ban is lifted. Who is disconnected may come back.
func TestABanOverTwoNodes(t *testing.T) {
	testenv.ParallelFailover(t, testenv.Medium)
	s := realSetting(t)
	a, b := startProcess(t, s), startProcess(t, s)
	c := createCampaign(t, a.client, fund(t, a.node, "ban", 1_000, 10))
	api := newAPIClient(t, a.node)
	act := func(user, act string, want int, code string) {
		t.Helper()
		api.want(api.call("POST", "/users/"+user+"/"+act, `{"reason":"a bot"}`), want, code)
	}
	turnedAway := func(n *node) bool { return closeOf(t, n, "mallory", c.ID) == room.CodeSentAway }

	earn(t, b.node, "mallory")
	other := join(t, b.node, "other", c.ID)
	for _, n := range []*node{a.node, b.node} {
		p := join(t, n, "mallory", c.ID)
		act("mallory", "disconnect", http.StatusOK, "")
		wantClose(t, p, room.CodeSentAway)
	}
	atA, atB := join(t, a.node, "mallory", c.ID), join(t, b.node, "mallory", c.ID)
	act("mallory", "ban", http.StatusOK, "")
	wantClose(t, atA, room.CodeSentAway)
	wantClose(t, atB, room.CodeSentAway)
	if !turnedAway(a.node) || !turnedAway(b.node) { // b has closed the connection, so it knows
		t.Error("a banned player is let in")
	}
	if got := api.call("GET", "/users/mallory", ""); got.field("banned") != "true" {
		t.Errorf("the player: %s", got.body)
	}
	mine := newAPIClient(t, b.node)
	mine.token = token(t, "mallory")
	mine.want(mine.call("POST", "/me/withdrawals", `{"amount":1}`), http.StatusForbidden, "banned")

	api.want(api.call("POST", "/users/mallory/ban", `{}`), http.StatusUnprocessableEntity, "invalid")
	act("mallory", "unban", http.StatusOK, "")
	testenv.Eventually(t, time.Minute, "node b lets the player in again", func() bool { return !turnedAway(b.node) })
	other.mu.Lock()
	defer other.mu.Unlock()
	if other.closed != nil {
		t.Errorf("another player was sent away: %v", other.closed)
	}
}

// TestAFrozenNodePaysNoBannedPlayer: a node that was stopped before a ban, and goes on after its answer with the taps
// of the banned player in its sockets, may tell them a win; nothing of it is paid.
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

	must(t, b.cmd.Process.Signal(syscall.SIGSTOP))
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
	must(t, b.cmd.Process.Signal(syscall.SIGCONT))
	wantClose(t, p, room.CodeSentAway)
	_, err = a.client.CloseCampaign(within(t, 20*time.Second), c.ID)
	must(t, err)
	testenv.Eventually(t, time.Minute, "everything of the campaign is in the ledger", func() bool {
		r, err := a.client.Reconciliation(within(t, 20*time.Second), c.ID)
		return err == nil && r.Balanced && r.Unsettled == 0
	})
	wantNothingAfterBan(t, a, "mallory")
	t.Log(fmt.Sprint(len(drops), " taps waited in the stopped node"))
}

// wantNothingAfterBan looks at each win of a player: what came before the ban is paid, what came after it is a dead
// letter, and there is some of it. The stop of a process takes a moment, so that a tap may still be before the ban.
func wantNothingAfterBan(t *testing.T, n *process, user string) {
	t.Helper()
	var u operator.Player
	must(t, json.Unmarshal(newAPIClient(t, n.node).call("GET", "/users/"+user, "").body, &u))
	claims, err := n.client.UserClaims(within(t, 20*time.Second), user, operator.Page{Limit: 500})
	must(t, err)
	var paid rain.Money
	dead := 0
	for _, c := range claims.Items {
		switch before := c.At < u.Sanctions[0].At; {
		case before && c.State == operator.ClaimSettled:
			paid += c.Amount
		case !before && c.State == operator.ClaimDead:
			dead++
		default:
			t.Errorf("banned at %d: %+v", u.Sanctions[0].At, c)
		}
	}
	if u.Balance != paid || dead == 0 {
		t.Errorf("the balance is %d, won before the ban are %d; %d wins after it", u.Balance, paid, dead)
	}
}
