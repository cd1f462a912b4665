package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

const reclaimShards = 4 // each gives its rest back by itself

// playReclaim strikes while one campaign's rest is being given back: the test locks the sponsor's balance, so it
// stops in the middle. A second campaign is being closed then, and a third expires; players tap in all three.
func playReclaim(c *cell) {
	const sponsor = "sponsor-reclaim"
	spec := c.spec("reclaim", sponsor)
	spec.Shards = reclaimShards
	deposited := 3 * spec.Budget
	c.deposit(sponsor, deposited)
	closed, closing := c.begin(spec, 4), c.begin(spec, 4)
	c.started(closed)
	c.started(closing)
	spec.ExpiresInMS = 3_000
	expiring := c.begin(spec, 4)

	release := c.hold(c.t, "sponsor:"+sponsor)
	testenv.Must(c.t, testenv.Err(c.op().CloseCampaign(within(c.t, 20*time.Second), closed.ID)))
	c.awaitHeld(c.t, "sponsor:"+sponsor, 1)
	all := len(c.campaigns) * reclaimShards
	testenv.Equal(c.t, c.reclaimed(c.t, sponsor), 0, "shards are given back before the fault: it strikes too late")
	asked := make(chan error, 1)
	go func() { asked <- c.closeInSpite(closing.ID) }()
	c.strike()
	release()
	testenv.Eventually(c.t, time.Minute, "the third campaign expires", func() bool {
		return time.Now().UnixMilli() > expiring.ExpiresAt
	})
	if c.fault != mysqlFault {
		testenv.Eventually(c.t, time.Minute, "what was held is given back in spite of the fault", func() bool {
			return c.reclaimed(c.t, sponsor) > 0
		})
	}
	c.fault.heal(c.arena)
	testenv.WantErr(c.t, <-asked, nil, "the campaign cannot be closed")
	c.checks = append(c.checks, func(t *testing.T) {
		t.Helper()
		c.checkGivenBack(t, sponsor, deposited)
	})
	c.note("the rest of %d shards on its way, %d wins reported", all,
		closed.crowd.reported.Load()+closing.crowd.reported.Load()+expiring.crowd.reported.Load())
}

// reclaimed counts the shards whose rest is back at the sponsor.
func (a *arena) reclaimed(t *testing.T, sponsor string) int64 {
	t.Helper()
	return a.count(t, "SELECT COUNT(*) FROM reclaim JOIN campaign ON campaign.id = campaign_id WHERE sponsor = ?",
		sponsor)
}

// closeInSpite asks one node after the other to close a campaign until one has done it.
func (c *cell) closeInSpite(campaign string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for try := 0; ; try++ {
		_, err := c.node(try%2).client.CloseCampaign(ctx, campaign)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("after %d tries", try), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// checkGivenBack: each shard has given its rest back, and no node looks at the campaigns any more. The sponsor has all
// money that no player has.
func (c *cell) checkGivenBack(t *testing.T, sponsor string, deposited rain.Money) {
	t.Helper()
	testenv.Eventually(t, time.Minute, "all campaigns of the sponsor are done with", func() bool {
		return c.count(t, "SELECT COUNT(*) FROM campaign WHERE sponsor = ? AND (drained = 0 OR status <> 'closed')",
			sponsor) == 0
	})
	shards := int64(len(c.campaigns) * reclaimShards)
	// A shard that has given its rest back also returns stock that arrives later.
	moved := c.count(t, "SELECT COUNT(*) FROM move JOIN campaign ON campaign.id = campaign_id WHERE sponsor = ?",
		sponsor)
	n := c.reclaimed(t, sponsor)
	if n < shards || n > shards+moved {
		t.Errorf("%d rests are given back by %d shards, with %d moves between them", n, shards, moved)
	}
	const times = "SELECT COUNT(*) FROM entry JOIN txn ON txn.id = txn_id WHERE kind = 'reclaim' AND account_id = ?"
	if got := c.count(t, times, "sponsor:"+sponsor); got > n {
		t.Errorf("the sponsor got %d times something back of %d rests", got, n)
	}
	const won = "SELECT SUM(payout.amount) FROM payout JOIN campaign ON campaign.id = campaign_id WHERE sponsor = ?"
	paid := rain.Money(c.count(t, won, sponsor))
	balance := rain.Money(c.count(t, "SELECT amount FROM balance WHERE account_id = ?", "sponsor:"+sponsor))
	testenv.Equal(t, balance, deposited-paid,
		"the sponsor put in %d, the players have %d of it, and the sponsor has", deposited, paid)
	if paid == 0 {
		t.Error("nobody has won anything")
	}
}
