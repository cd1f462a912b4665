package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
)

// nodesNow are so many nodes with players.
type nodesNow struct {
	n   int
	err error
}

func (n *nodesNow) Nodes(context.Context) ([]string, error) { return make([]string, n.n), n.err }

// Few nodes are told in notices of many players, of whom each has all claims in one; many nodes, or so many that nobody
// can say, group by group.
func TestFewNodesHearOfEverybody(t *testing.T) {
	var settlements []posting.Settlement
	for claim := range 3 {
		for player := range packedClaims {
			settlements = append(settlements, posting.Settlement{Campaign: "c", User: fmt.Sprintf("player-%d", player),
				Packet: claim*packedClaims + player, Drop: "0.1", New: true})
		}
	}
	for what, at := range map[string]struct {
		nodes  *nodesNow
		packed int
	}{
		"one node": {&nodesNow{n: 1}, 3}, "as many as are few": {&nodesNow{n: mostNodes}, 3},
		"many": {&nodesNow{n: mostNodes + 1}, 0}, "none yet": {&nodesNow{}, 0},
		"nobody can say": {&nodesNow{n: 1, err: errors.New("away")}, 0},
	} {
		t.Run(what, func(t *testing.T) {
			own := newTestBus(t)
			o := own.o
			o.Nodes = at.nodes
			bus := NewBus(own.nc, o)
			all, groups := listen(t, bus, "rr.control.settledall.c", readSettled),
				listen(t, bus, "rr.control.settled.*", readSettled)
			testenv.Must(t, bus.Settled(t.Context(), "c", settlements))
			toAll, toGroups := all(), groups()
			if len(toAll) != at.packed || (len(toGroups) == 0) != (at.packed > 0) {
				t.Fatalf("%d notices to all, want %d, and %d to groups", len(toAll), at.packed, len(toGroups))
			}
			claims, in := 0, map[string]int{} // the notice that a player is in
			for n, notice := range append(toAll, toGroups...) {
				for i, c := range notice.Claims {
					claims++
					if before, known := in[c.User]; known && (before != n || notice.Claims[i-1].User != c.User) {
						t.Errorf("the claims of %s are parted", c.User)
					}
					in[c.User] = n
				}
			}
			testenv.Equal(t, claims, len(settlements), "claims")
		})
	}
}

// A node listens to the notices to all nodes while it has players.
func TestWhoHasPlayersHearsOfEverybody(t *testing.T) {
	own := newTestBus(t)
	o, nodes := own.o, &nodesNow{n: 1}
	o.Nodes = nodes
	bus := NewBus(own.nc, o)
	with, without := hears(t, bus), hears(t, bus)
	with.Join(t.Context(), "u")
	without.Join(t.Context(), "u")
	without.Leave("u")
	subscribed(t, bus, 2)
	testenv.Eventually(t, time.Minute, "NATS knows that one of them listens", func() bool {
		tell(t, bus, "somebody else", "0")
		testenv.Must(t, bus.nc.Flush())
		before := without.times("somebody else", "0")
		tell(t, bus, "u", "1")
		return with.times("u", "1") > 0 && without.times("somebody else", "0") == before
	})
}
