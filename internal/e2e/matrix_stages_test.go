package e2e

import (
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

const (
	crowdSize = 12
	enough    = 50 // wins that show that a rain goes on
)

// begin makes a campaign with a long rain and a crowd that plays in it.
func (c *cell) begin(spec rain.Spec, players int) played {
	c.t.Helper()
	made := createCampaign(c.t, c.op(), spec)
	startRain(c.t, c.op(), made.ID, longRain(100))
	p := played{made, gather(c.t, c.arena, made.ID, players)}
	c.campaigns = append(c.campaigns, p)
	if c.fault == providerFault { // each stage feels it only if it asks the provider for money
		c.save(p.crowd, len(p.crowd.fans))
	}
	return p
}

// spec is a campaign with more packets than are won while a cell lasts.
func (c *cell) spec(name, sponsor string) rain.Spec {
	c.t.Helper()
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Budget, spec.Packets, spec.WinsPerUser = name, sponsor, 1_000_000, 10_000, 10_000
	return spec
}

func (c *cell) deposit(sponsor string, amount rain.Money) {
	c.t.Helper()
	testenv.Must(c.t, testenv.Err(c.op().Deposit(within(c.t, 20*time.Second), sponsor, "first", amount)))
}

// rained is one campaign of its own in which a crowd wins.
func (c *cell) rained() played {
	c.t.Helper()
	sponsor := "sponsor-" + c.stage
	spec := c.spec(c.stage, sponsor)
	c.deposit(sponsor, spec.Budget)
	p := c.begin(spec, crowdSize)
	c.started(p)
	return p
}

// started waits until the crowd wins. A node that is to kill itself may do so before everybody has.
func (c *cell) started(p played) {
	c.t.Helper()
	p.crowd.awaitReported(enough - p.crowd.reported.Load())
}

// strike does the fault. A node with a fault point breaks itself, at that point.
func (c *cell) strike() {
	c.t.Helper()
	if point := c.fault.points[c.stage]; point != "" {
		c.node(0).awaitDeath(c.t, time.Minute)
		c.note("died at `%s`", point)
		return
	}
	c.fault.strike(c.arena)
}

// suffer waits until the crowd has felt the fault: no tap can be decided, or the rain goes on without the missing part.
func (c *cell) suffer(p played) {
	c.t.Helper()
	switch {
	case c.fault == providerFault:
		ill := c.bank.broken.Load() + int64(len(sickness))
		testenv.Eventually(c.t, time.Minute, "the provider fails in all its ways",
			func() bool { return c.bank.broken.Load() >= ill })
		p.crowd.awaitReported(enough)
	case c.fault.wins:
		p.crowd.awaitReported(enough)
	default:
		p.crowd.awaitUnavailable(2 * crowdSize)
	}
}

// recover repairs the fault and waits until the crowd wins again.
func (c *cell) recover(p played) {
	c.t.Helper()
	c.fault.heal(c.arena)
	p.crowd.awaitReported(enough)
}

// playGrab strikes while taps travel.
func playGrab(c *cell) {
	p := c.rained()
	var inFlight int64
	testenv.Eventually(c.t, 10*time.Second, "taps are on their way", func() bool {
		inFlight = p.crowd.inFlight.Load()
		return inFlight > 0
	})
	before := p.crowd.reported.Load()
	c.strike()
	c.suffer(p)
	during := p.crowd.reported.Load() - before
	refused, lost := p.crowd.unavailable.Load(), p.crowd.lost.Load()
	if c.fault == nodeFault && lost == 0 {
		c.t.Error("nobody has lost their connection: the node was not in the game")
	}
	c.recover(p)
	p.crowd.disperse()
	if p.crowd.replayed.Load() == 0 {
		c.t.Error("no win was reported again")
	}
	c.note("%d taps in flight, %d wins during it", inFlight, during)
	if refused > 0 {
		c.note("%d taps refused", refused)
	}
	if lost > 0 {
		c.note("%d connections lost", lost)
	}
	c.note("%d wins reported", p.crowd.reported.Load())
}

// playPublish strikes while the nodes hold entries that are not in the stream: NATS is stopped, so that they cannot
// publish them. The entries of a dead node are in the outbox, and the other node's relay finds them there.
func playPublish(c *cell) {
	p := c.rained()
	if c.fault.points[c.stage] != "" {
		c.strike()
		c.suffer(p)
		c.recover(p)
		c.note("%d wins reported", p.crowd.reported.Load())
		return
	}
	published := c.published(c.t)
	c.nats.Freeze()
	var waiting int64
	testenv.Eventually(c.t, 30*time.Second, "entries wait for JetStream", func() bool {
		waiting = c.waiting(c.t, p.Campaign)
		return waiting >= 2*enough
	})
	c.strike()
	if c.fault != natsFault {
		c.nats.Thaw()
	}
	c.suffer(p)
	if c.fault == mysqlFault {
		testenv.Eventually(c.t, 30*time.Second, "publishing without the database", func() bool {
			return c.published(c.t) >= published+uint64(waiting)
		})
	}
	c.recover(p)
	c.note("%d entries in the nodes' hands, %d wins reported", waiting, p.crowd.reported.Load())
}

// settleWorkers is the number of batches that a node posts at once. With one more in the middle of its transaction,
// both nodes have some.
const settleWorkers = 4

// playSettle strikes while batches are in the middle of their transactions: the escrow that they all debit is held.
func playSettle(c *cell) {
	p := c.rained()
	if c.fault.points[c.stage] != "" {
		c.strike()
		c.suffer(p)
		c.recover(p)
	}
	escrow := "escrow:" + p.ID
	release := c.hold(c.t, escrow)
	c.awaitHeld(c.t, escrow, settleWorkers+1)
	var unsettled int64
	testenv.Eventually(c.t, 30*time.Second, "more waits behind them", func() bool {
		unsettled = c.waiting(c.t, p.Campaign)
		return unsettled >= 2*enough
	})
	paid := c.paid(c.t, p.ID)
	c.fault.strike(c.arena)
	release()
	c.suffer(p)
	if c.fault != mysqlFault {
		testenv.Eventually(c.t, 30*time.Second, "what was held is posted in spite of the fault",
			func() bool { return c.paid(c.t, p.ID) > paid })
	}
	c.recover(p)
	c.note("more than %d postings in mid-transaction, %d entries unsettled, %d wins reported", settleWorkers, unsettled,
		p.crowd.reported.Load())
}

// payerSlots is the number of payments that a node asks for at once. With one more at the bank, both nodes have asked
// for some.
const payerSlots = 8

// playWithdraw strikes while payments are made and not known to be made: the bank has decided them, and keeps its
// answers back.
func playWithdraw(c *cell) {
	p := c.rained()
	s := c.arena.savers
	if c.fault != providerFault {
		s = append(s, c.save(p.crowd, len(p.crowd.fans)))
	}
	savers := s[len(s)-1]
	savers.awaitMade(c.t, enough)
	if c.fault.points[c.stage] != "" {
		c.strike()
	} else {
		c.strikeBank()
	}
	c.suffer(p)
	c.recover(p)
	savers.awaitMade(c.t, enough)
	c.checks = append(c.checks, c.checkWithdrawals)
	c.note("%d withdrawals, %d wins reported", savers.made.Load(), p.crowd.reported.Load())
}

// strikeBank strikes while the bank holds answers back.
func (c *cell) strikeBank() {
	c.bank.hold()
	var held int64
	testenv.Eventually(c.t, time.Minute, "payments are in the bank's hands", func() bool {
		held = c.bank.held.Load()
		return held > payerSlots
	})
	paid := c.paidOut()
	c.strike()
	if c.fault == providerFault {
		// A player who was paid without a notice gives up waiting.
		testenv.Eventually(c.t, time.Minute, "nobody waits for an answer any more",
			func() bool { return c.bank.held.Load() == 0 })
	}
	c.bank.open()
	if c.fault == redisFault || c.fault == natsFault {
		testenv.Eventually(c.t, time.Minute, "withdrawals are paid in spite of the fault",
			func() bool { return c.paidOut() > paid })
	}
	c.note("%d payments made and unanswered", held)
}

// paidOut counts the withdrawals that are known to be paid.
func (c *cell) paidOut() int64 {
	return c.count(c.t, "SELECT COUNT(*) FROM withdrawal WHERE state = 'paid'")
}
