package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
)

// crashPoints are the steps of a win's way after which a node is killed, from the script to the last acknowledgement.
var crashPoints = []string{
	"grab.after_script", "deciders.before_publish", "deciders.after_publish", "settle.after_commit",
	"settle.before_remove",
	"settle.before_ack",
}

// TestKillNineLosesAndDoublesNothing kills a node at each point of a win's way. The players go to a second node, and
// send each unanswered tap again. In the end every win of Redis is in the ledger once, with all that were reported.
// Each run draws half of the points; -nightly plays all.
func TestKillNineLosesAndDoublesNothing(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	half := testenv.Random(t).IntN(2)
	for i, point := range crashPoints {
		// The third passing: some batches have gone all the way when it happens, and some have not begun.
		t.Run(point, func(t *testing.T) {
			if i%2 != half {
				testenv.RunsFrom(t, testenv.Nightly)
			}
			testenv.ParallelFailover(t, testenv.Medium)
			crashAt(t, point+":3")
		})
	}
}

func crashAt(t *testing.T, fault string) {
	t.Helper()
	s := realSetting(t)
	doomed := startProcess(t, s, "REDRAIN_FAULT_AT="+fault)
	spec := fund(t, doomed.node, "crash", 50_000, 60)
	spec.WinsPerUser = 60
	c := createCampaign(t, doomed.client, spec)
	startRain(t, doomed.client, c.ID, longRain(16))
	const count = 6
	before := make([]*player, count)
	for i := range before {
		before[i] = join(t, doomed.node, fmt.Sprintf("user-%d", i), c.ID)
	}
	// One tap after the other, so that there are several batches; the node dies among them or right after.
	isAlive := true
	for round := 0; isAlive; round++ {
		for _, p := range before {
			p.tapNext()
		}
		select {
		case <-doomed.Done():
			isAlive = false
		case <-time.After(50 * time.Millisecond): // the rhythm of the taps
		}
		if round > 400 {
			t.Fatal("the node survives")
		}
	}
	doomed.awaitDeath(t, time.Second)

	heir := startProcess(t, s)
	after := make([]*player, count)
	for i, p := range before {
		<-p.done
		after[i] = join(t, heir.node, p.user, c.ID)
		for _, drop := range p.unanswered() {
			after[i].tap(drop)
		}
		// A reported win is reported again, the same.
		for _, win := range p.wins() {
			if again := after[i].answered(t, after[i].tap(win.Drop)); again.Outcome != "won" ||
				again.Claim != win.Claim || again.Amount != win.Amount {
				t.Errorf("%s won %+v; the other node says %+v", p.user, win, again)
			}
		}
	}
	for _, p := range after {
		p.await(t, 30*time.Second, "result for each tap", func() bool { return len(p.results) == len(p.tapped) })
	}
	awaitBooks(t, heir.client, c.ID)
	checkLedger(t, heir.client, c.ID, slices.Concat(before, after))
}

// unanswered are the drops whose taps the player has no result for.
func (p *player) unanswered() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var drops []string
	for id, drop := range p.tapped {
		if len(p.results[id]) == 0 || p.results[id][0].Outcome == "unavailable" {
			drops = append(drops, drop)
		}
	}
	return drops
}

// awaitBooks waits until everything that was won has been settled, and the books agree.
func awaitBooks(t *testing.T, op *client.Client, campaign string) {
	t.Helper()
	var rec client.Reconciliation
	var err error
	testenv.Eventually(t, time.Minute, "everything settled and balanced", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		rec, err = op.Reconciliation(ctx, campaign)
		if err != nil || !rec.Balanced || rec.Unsettled != 0 {
			return false
		}
		s, err := op.Stats(ctx, campaign)
		return err == nil && s.Paid == s.Won
	})
}

// checkLedger: each reported win is in the ledger once, under its player's name; and the balances are the claims.
func checkLedger(t *testing.T, op *client.Client, campaign string, players []*player) {
	t.Helper()
	inLedger := claimsOf(t, op, campaign)
	balances := map[string]rain.Money{}
	for _, claim := range inLedger {
		balances[claim.User] += claim.Amount
	}
	reported := map[string]wire.Result{}
	for _, p := range players {
		for id, win := range p.wins() {
			reported[id] = win
			if got := inLedger[id]; got.User != p.user || got.Amount != win.Amount || got.State != "settled" {
				t.Errorf("%s received %+v; the ledger has %+v", p.user, win, got)
			}
		}
	}
	t.Logf("%d claims in the ledger, %d reported", len(inLedger), len(reported))
	if len(inLedger) == 0 {
		t.Error("nobody has won anything: the test has tested nothing")
	}
	for user, want := range balances {
		has := testenv.Got(client.Get[openapi.Balance](within(t, 10*time.Second), op, "users", user)).Must(t)
		testenv.Equal(t, has.Balance, want, "balance of %s, that claims show", user)
	}
}

// claimsOf are all wins of a campaign that the ledger has.
func claimsOf(t *testing.T, op *client.Client, campaign string) map[string]client.Claim {
	t.Helper()
	list := client.Pages[client.Claim](op, nil, "campaigns", campaign, "claims")
	claims := map[string]client.Claim{}
	for claim, err := range client.All(within(t, time.Minute), list) {
		testenv.Must(t, err)
		if _, twice := claims[claim.Claim]; twice {
			t.Errorf("claim %s is in the ledger twice", claim.Claim)
		}
		claims[claim.Claim] = claim
	}
	return claims
}
