package gateway

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/server/cluster"
)

// forgot tells how often a player was forgotten.
func (n *neighbours) forgot(user string) (times int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, who := range n.forgotten {
		if who == user {
			times++
		}
	}
	return times
}

// A player is known to the node until the last connection has gone.
func TestAPlayerIsForgottenWithTheLastConnection(t *testing.T) {
	n := &neighbours{}
	d := openDoor(t, n, nil)
	first, second := d.play("u"), d.play("u")
	_ = first.conn.Close()
	d.emptied(1)
	testenv.Equal(t, n.forgot("u"), 0, "times forgotten with a connection left")
	_ = second.conn.Close()
	d.emptied(0)
	testenv.Equal(t, n.forgot("u"), 1, "times forgotten")
}

// Who comes back while the old connection is still there brings their wins with the welcome: the end of the old one
// does not take them away.
func TestWhoComesBackIsNotForgotten(t *testing.T) {
	reading, goOn := make(chan struct{}), make(chan struct{})
	var back atomic.Bool
	n := &neighbours{wins: func(string) ([]rain.Win, error) {
		if back.Load() {
			close(reading)
			<-goOn
		}
		return []rain.Win{{User: "u", Packet: 1, Drop: "0.1"}}, nil
	}}
	d := openDoor(t, n, nil)
	old := d.play("u")
	back.Store(true)
	again := d.hello("u")
	<-reading
	_ = old.conn.Close()
	d.emptied(1)
	close(goOn)
	again.hear("welcome")
	testenv.Equal(t, n.forgot("u"), 0, "times forgotten")
}

// A notice that comes twice is told once to each connection, and what is new in it all the same.
func TestANoticeThatComesTwice(t *testing.T) {
	n := &neighbours{}
	d := openDoor(t, n, nil)
	both := []*client{d.play("u"), d.play("u")}
	claims := []cluster.SettledClaim{{Claim: "c-1", User: "u", Packet: 1, Drop: "0.1", Amount: 5, Balance: 5}}
	d.gateway.Settled("c", cluster.Settled{Campaign: "c", Claims: claims})
	d.gateway.Settled("c", cluster.Settled{Campaign: "c", Claims: claims})
	claims = append(claims, cluster.SettledClaim{Claim: "c-2", User: "u", Packet: 2, Drop: "0.2", Amount: 6,
		Balance: 11})
	d.gateway.Settled("c", cluster.Settled{Campaign: "c", Claims: claims})
	for _, c := range both {
		told := []string{c.hear("settled"), c.hear("settled")}
		if !strings.Contains(told[0], "c-1") || strings.Contains(told[1], "c-1") || !strings.Contains(told[1], "c-2") {
			t.Errorf("told %v", told)
		}
	}
}

// Wins that are not confirmed are not told, and this node knows of them: it asks for them again.
func TestUnconfirmedWinsAreNotTold(t *testing.T) {
	n := &neighbours{notYet: []rain.Win{{User: "u", Packet: 8, Drop: "0.8"}}}
	n.wins = func(string) ([]rain.Win, error) {
		return []rain.Win{{User: "u", Packet: 7, Drop: "0.7", Amount: 3}}, nil
	}
	d := openDoor(t, n, nil)
	c := d.hello("u")
	if got := c.hear("welcome"); !strings.Contains(got, `"claims_total":1`) || !strings.Contains(got, "c-7") ||
		strings.Contains(got, "c-8") {
		t.Error(got)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.unsure, n.notYet) || len(n.remembered) != 1 || n.remembered[0].User != "u" {
		t.Errorf("it knows %v, and without confirmation %v", n.remembered, n.unsure)
	}
}
