// Package payout turns wins into money: exactly once, to the cent, whatever dies in between. Its own code
// is the text of an outbox entry, in a message and in a dead letter:
//
//	message := payout.SealMessage(ring, payout.EncodeEntry(entry))
//	entry, err := payout.OpenMessage(ring, message) // ErrSeal if no node of this installation wrote it
//
// The rest is in the subpackages:
//
//	ledger            what is kept in the database: campaigns, sponsors, claims, withdrawals, dead letters, audit
//	ledger/posting    outbox entries become transactions; what cannot be posted becomes a dead letter
//	ledger/booking    double entry: accounts, transactions, balances
//	ledger/standing   who may play and be paid: bans, verdicts, lists
//	ledger/chain      hashes of the rows that never change, in blocks; the roots of the days
//	pipeline          decided, or left in an outbox → JetStream → ledger
//	withdraw          withdrawals → payment provider
//	withdraw/webhook  the provider that is asked over HTTP
//	withdraw/providertest  what a provider has to hold to, for the tests of who writes one
//	reconcile         the proof
//	statement         what a provider or a bank says, held against the ledger
//	export            a campaign that is over as a file, and the proof of such a file
//	rollback          notices a ledger that was put back, or has lost commits
//	paytest           what the tests of all of them need
//
// pipeline, withdraw, reconcile, export and rollback know the ledger and not each other.
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
//	pay       escrow:<c>     → user:<id>, …        one for each campaign in a batch of outbox entries
//	reclaim   escrow:<c>     → sponsor:<id>
//	withdraw  user:<id>      → clearing:<id>       a player asks for money
//	paid      clearing:<id>  → world               and it was paid
//	return    clearing:<id>  → user:<id>           or the provider has refused it, or operators gave it back
//
// No account but world ever goes below zero; world is many rows, so that nobody waits for it. Each kind has papers,
// rows that say what the money was for: deposit, campaign, payout, reclaim, withdrawal. What the ledger cannot
// post, because it contradicts what is posted already, becomes a dead letter: a row that an operator sees and can
// retry, never a loss. So does a withdrawal that nobody answers clearly, and a message that nobody can read.
//
// Money leaves through a withdraw.Provider. Withdrawals.Withdraw takes it out of the player's account at once, and the
// withdraw.Payer has it paid, from the table of withdrawals as its queue and under one key for all tries:
//
//	requested ──first try──▶ sent ──paid──▶ paid
//	                          │ ├───the player must confirm──▶ action_required ──▶ paid, or refused
//	                          │ └───refused──▶ refused, and the money is given back in the same transaction
//	                          └──no clear answer, too often──▶ a dead letter ──Retry──▶ tried again
//	                                                                └──two operators──▶ paid, or returned
//
// With the first try a withdrawal is bound to its receiver, and no other is ever asked for it.
//
// reconcile.Reconciler proves, for a campaign or for everything, that every cent is in exactly one place.
package payout
