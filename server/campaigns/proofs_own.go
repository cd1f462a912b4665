package campaigns

import (
	"time"

	"redrain/payout/ledger"
)

const (
	// ownBooks stands for what this node has proved itself where campaigns have their ids.
	ownBooks = " own"
	// ownFirst and ownEvery are after how many rounds of the schedule a node without the lease proves the books all the
	// same: for the first time since it has not got the lease, and again.
	ownFirst = 3
	ownEvery = 10
	// ownLeast is the least that both come to.
	ownLeast = time.Minute
)

// ownProof is what this process has proved itself. It is kept in memory only: who can write to the database can write
// there who has the lease, and when the books were proved.
type ownProof struct {
	at     time.Time // when everything was proved or begun to be, or this process has started
	fullAt time.Time // the same of every row
	lostAt time.Time // since when another has the lease; zero while this node has it
	alone  bool      // it has proved without the lease since
	last   ledger.Proof
}

// beginOwn notes that the process has started.
func (r *Proofs) beginOwn(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own.at, r.own.fullAt, r.own.lostAt = now, now, now
}

// did notes a proof of everything.
func (o *ownProof) did(p ledger.Proof, full bool) {
	o.last, o.at = p, time.Now()
	if full {
		o.fullAt = o.at
	}
}

// ownTurn tells whether this node is to prove everything now whoever has the lease, because it has not done so for too
// long. In a cluster in which all is well the one with the lease proves, and each of the others once in ownEvery
// rounds: so nobody who writes a holder of the lease, or times of proofs, into the database keeps the books from being
// proved.
func (r *Proofs) ownTurn(now time.Time, holds bool) bool {
	rounds := func(n int) time.Duration { return max(time.Duration(n)*r.o.Every, ownLeast) }
	r.mu.Lock()
	defer r.mu.Unlock()
	o := &r.own
	if holds {
		o.lostAt, o.alone = time.Time{}, false
		return false // the schedule's turn
	}
	if o.lostAt.IsZero() {
		o.lostAt = now
	}
	if now.Sub(o.at) < rounds(ownEvery) && (o.alone || now.Sub(o.lostAt) < rounds(ownFirst)) {
		return false
	}
	o.at, o.alone = now, true
	return true
}

// ownFull tells whether this node is to read all books although another has the lease: it has not, for as long as the
// alarm would wait.
func (r *Proofs) ownFull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.own.fullAt.IsZero() && time.Since(r.own.fullAt) >= staleFull
}
