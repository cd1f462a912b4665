// Package payout turns wins into money: exactly once, to the cent, whatever dies in between.
//
// A win waits in the outbox of its shard until the ledger has it. Everything between the two may be repeated any number
// of times, and the ledger makes of all the copies one posting:
//
//	outbox ──Relay──▶ JetStream ──Settler──▶ Ledger.Post ──commit──▶ settled ──▶ Outbox.Remove ──▶ ack
//	   ▲                                          │
//	   └── unsettled after a while: again         └── contradicts the ledger ──▶ dead letter ──Retry──▶ settled
//
// The [Ledger] is double entry. Every movement of money is a transaction whose lines sum to zero, written by one
// function (book) whatever its kind:
//
//	deposit   world          → sponsor:<id>
//	fund      sponsor:<id>   → escrow:<campaign>
//	pay       escrow:<c>     → user:<id>, …        one for each outbox entry
//	reclaim   escrow:<c>     → sponsor:<id>
//	withdraw  user:<id>      → world
//	return    world          → user:<id>           of a withdrawal that the provider has refused
//
// No account but world ever goes below zero. What the ledger cannot post, because it contradicts what is posted
// already, becomes a dead letter: a row that an operator sees and can retry, never a loss.
//
// Money leaves through a [Provider]. [Ledger.Withdraw] takes it out of the player's account at once, and the
// [Payer] has it paid, from the table of withdrawals as its queue and under one key for all tries:
//
//	pending ──paid──▶ paid
//	   │ └────refused──▶ failed, and the money is given back in the same transaction
//	   └──no clear answer, too often──▶ still pending, and a dead letter ──Retry──▶ tried again
//
// [Ledger.Reconcile] proves for a campaign that every cent is in exactly one place.
package payout
