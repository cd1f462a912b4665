package e2e

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/room"
)

// TestSentAwayOverTwoNodes: only players on a campaign's list come in, at any node. Both nodes send players away who
// are removed from the list, disconnected, banned, or denied by a list or the rules. They let them in when that is
// undone.
func TestSentAwayOverTwoNodes(t *testing.T) {
	testenv.ParallelFailover(t, testenv.Heavy)
	s := realSetting(t)
	a, b := startProcess(t, s, "REDRAIN_RISK=hold"), startProcess(t, s, "REDRAIN_RISK=hold")
	api := newAPIClient(t, a.node)
	made := func(body string) {
		t.Helper()
		api.want(api.call("POST", "/lists", body), http.StatusCreated, "")
	}
	made(`{"list":"vip"}`)
	made(`{"list":"barred","purpose":"deny"}`)
	made(`{"list":"nets","of":"addresses","purpose":"deny"}`)
	l, err := a.client.ImportMembers(within(t, 20*time.Second), "vip", strings.NewReader("player\nann\nbob\n"), false)
	if err != nil || l.Members != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
	change := func(what, body string) {
		t.Helper()
		api.want(api.call("POST", "/lists/"+what, body), http.StatusOK, "")
	}
	spec := fund(t, a.node, "lists", 1_000, 10)
	spec.Players = &rain.Players{List: "none"}
	_, err = a.client.CreateCampaign(within(t, 20*time.Second), spec, "")
	if p, ok := errors.AsType[*client.Error](err); !ok || p.Status != http.StatusUnprocessableEntity {
		t.Errorf("a campaign with a list that there is not: %v", err)
	}
	spec.Players.List = "vip"
	c := createCampaign(t, a.client, spec)
	for _, n := range []*node{a.node, b.node} {
		testenv.Equal(t, closeOf(t, n, "stranger", c.ID), room.CodeNotInvited, "a stranger's hello ends with")
	}
	asked := newAPIClient(t, b.node)
	asked.token = token(t, "stranger")
	asked.want(asked.call("GET", "/admission?campaign="+c.ID, ""), http.StatusForbidden, "not_on_the_list")

	letsIn := func(what, user string) {
		t.Helper()
		testenv.Eventually(t, time.Minute, what, func() bool { return closeOf(t, b.node, user, c.ID) == 0 })
	}
	atA, atB, other := join(t, a.node, "ann", c.ID), join(t, b.node, "ann", c.ID), join(t, b.node, "bob", c.ID)
	change("vip/remove", `{"members":["ann"]}`)
	wantClose(t, atA, room.CodeNotInvited)
	wantClose(t, atB, room.CodeNotInvited)
	change("vip/members", `{"members":["ann"]}`)
	letsIn("node b lets her in again", "ann")

	act := func(user, act string) {
		t.Helper()
		api.want(api.call("POST", "/users/"+user+"/"+act, `{"reason":"a bot"}`), http.StatusOK, "")
	}
	for _, n := range []*node{a.node, b.node} {
		p := join(t, n, "ann", c.ID)
		act("ann", "disconnect")
		wantClose(t, p, room.CodeSentAway)
	}
	earn(t, b.node, "ann")
	atA, atB = join(t, a.node, "ann", c.ID), join(t, b.node, "ann", c.ID)
	act("ann", "ban")
	wantClose(t, atA, room.CodeSentAway)
	wantClose(t, atB, room.CodeSentAway)
	for _, n := range []*node{a.node, b.node} { // b has closed the connection, so it knows of the ban
		testenv.Equal(t, closeOf(t, n, "ann", c.ID), room.CodeSentAway, "a banned player's hello ends with")
	}
	asked.token = token(t, "ann")
	asked.want(asked.call("POST", "/me/withdrawals", `{"amount":1}`), http.StatusForbidden, "banned")
	act("ann", "unban")
	letsIn("node b lets her in after the ban", "ann")
	other.mu.Lock()
	if other.closed != nil {
		t.Errorf("another player was sent away: %v", other.closed)
	}
	other.mu.Unlock()

	change("barred/members", `{"members":["bob"]}`)
	wantClose(t, other, room.CodeSentAway)
	change("barred/remove", `{"members":["bob"]}`)
	letsIn("node b lets him in again", "bob")

	last := join(t, b.node, "ann", c.ID)
	change("nets/members", `{"members":["127.0.0.0/8","::1"]}`)
	wantClose(t, last, room.CodeSentAway)
	api.want(api.call("DELETE", "/lists/vip", ""), http.StatusConflict, "list_in_use")
	api.want(api.call("DELETE", "/lists/nets", ""), http.StatusNoContent, "")
	letsIn("node b lets everybody in again", "ann")

	last = join(t, b.node, "ann", c.ID)
	giveVerdict(t, s, standing.Deny, "ann")
	wantClose(t, last, room.CodeSentAway)
	testenv.Equal(t, closeOf(t, b.node, "ann", c.ID), room.CodeSentAway, "a hello of whom the rules deny ends with")
	api.want(api.call("POST", "/risk/release", `{"users":["ann"],"reason":"called her"}`), http.StatusOK, "")
	letsIn("node b lets her in after the release", "ann")
}
