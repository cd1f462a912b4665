package reconcile

import (
	"fmt"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// hotWins is which packets Redis has recorded as won. It takes a bit for each packet.
type hotWins struct {
	bits   []uint64
	shards map[int]bool // those that were read
}

func (h *hotWins) has(packet int) bool { return h.bits[packet/64]&bit(packet) != 0 }
func (h *hotWins) add(packet int)      { h.bits[packet/64] |= bit(packet) }

func bit(packet int) uint64 { return uint64(1) << (packet % 64) }

// hotWin is a win as Redis has recorded it.
type hotWin struct {
	rain.Win
	shard int
	entry string
}

// promise is a packet in somebody's hand.
type promise struct {
	packet int
	posting.Holder
}

func promiseOf(w rain.Win) promise { return promise{w.Packet, holderOf(w)} }

func holderOf(w rain.Win) posting.Holder { return posting.Holder{User: w.User, Amount: w.Amount} }

func (w *hotWin) name(c *rain.Campaign) string {
	return fmt.Sprintf("claim %s (packet %d, player %s, amount %d, outbox entry %s)", rain.ClaimID(c.ID, w.Packet),
		w.Packet, w.User, w.Amount,
		rain.EntryRef{Campaign: c.ID, Shard: w.shard, ID: w.entry})
}
