package e2e

import (
	"time"

	"redrain/internal/testenv"
)

// payerSlots is how many payments a node asks for at once: with one more in the bank's hands, both nodes have asked
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
	c.note("%d withdrawals, %d wins told", savers.made.Load(), p.crowd.told.Load())
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
		// Who was paid and not told gives up waiting.
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
