// Package payout turns wins into money: exactly once, to the cent, whatever dies in between. It has no code of its own;
// its subpackages have:
//
//	ledger            what is kept in the database: campaigns, sponsors, claims, withdrawals, dead letters, audit
//	ledger/posting    outbox entries become transactions; what cannot be posted becomes a dead letter
//	ledger/booking    double entry: accounts, transactions, balances
//	pipeline          decided, or left in an outbox → JetStream → ledger
//	withdraw          withdrawals → payment provider
//	withdraw/webhook  the provider that is asked over HTTP
//	reconcile         the proof
//	entrytext         how an outbox entry is written
//	paytest           what the tests of all of them need
//
// pipeline, withdraw and reconcile know the ledger and not each other.
//
// A win waits in the outbox of its shard until the ledger has it. Everything between the two may be repeated any number
// of times, and the ledger makes of all the copies one posting:
//
//	decided ─Deciders─▶ JetStream ──Settler──▶ Poster.Post ──commit──▶ settled ──▶ Outbox.Remove ──▶ ack
//	   │                    ▲                     │
//	   └── outbox ─Relay────┘ what stays there    └── contradicts the ledger ──▶ dead letter ──Retry──▶ settled
//
// The ledger is double entry. Every movement of money is a transaction whose lines sum to zero, written by one
// function (booking.Book) whatever its kind:
//
//	deposit   world          → sponsor:<id>
//	fund      sponsor:<id>   → escrow:<campaign>
//	pay       escrow:<c>     → user:<id>, …        one for each outbox entry
//	reclaim   escrow:<c>     → sponsor:<id>
//	withdraw  user:<id>      → world
//	return    world          → user:<id>           of a withdrawal that the provider has refused
//
// No account but world ever goes below zero. What the ledger cannot post, because it contradicts what is posted
// already, becomes a dead letter: a row that an operator sees and can retry, never a loss. So does a withdrawal that
// nobody answers clearly, and a message that nobody can read.
//
// Money leaves through a withdraw.Provider. Withdrawals.Withdraw takes it out of the player's account at once, and the
// withdraw.Payer has it paid, from the table of withdrawals as its queue and under one key for all tries:
//
//	pending ──paid──▶ paid
//	   │ └────refused──▶ failed, and the money is given back in the same transaction
//	   └──no clear answer, too often──▶ still pending, and a dead letter ──Retry──▶ tried again
//
// reconcile.Reconciler proves, for a campaign or for everything, that every cent is in exactly one place.
package payout
