// Package payout turns wins into money: exactly once and to the cent, through every crash. Its own code encodes and
// seals outbox entries, for messages and dead letters:
//
//	message := payout.SealMessage(ring, payout.EncodeEntry(entry))
//	entry, err := payout.OpenMessage(ring, message) // ErrSeal if no node of this installation wrote it
//
// The rest is in the subpackages:
//
//	ledger            the tables: campaigns, sponsors, claims, withdrawals, dead letters, audit
//	ledger/posting    makes transactions of outbox entries, or dead letters if it must refuse them
//	ledger/booking    double entry: accounts, transactions, balances
//	ledger/standing   who may play and be paid: bans, verdicts, lists
//	ledger/chain      hashes of transactions and audit records, in blocks; daily roots
//	pipeline          outbox → JetStream → ledger
//	withdraw          withdrawals → payment provider
//	withdraw/webhook  a provider that is called over HTTP
//	withdraw/providertest  the contract test for providers
//	reconcile         proves that every cent is in exactly one place
//	statement         compares statements of providers and banks with the ledger
//	export            writes a finished campaign to a file, and verifies such files
//	rollback          detects a ledger that was restored or has lost commits
//	paytest           helpers for the tests of these packages
//
// pipeline, withdraw, reconcile, export and rollback use the ledger and not each other.
//
// A win stays in the outbox of its shard until the ledger has it. Every step between may be repeated any number of
// times. The ledger posts one of the copies. With --confirm stream the node publishes before it reports the win, and
// Deciders get nothing:
//
//	decided ─Deciders─▶ JetStream ──Settler──▶ Poster.Post ──commit──▶ settled ──▶ Outbox.Remove ──▶ ack
//	   │                    ▲                     │
//	   └── outbox ─Relay────┘ unpublished         └── contradicts the ledger ──▶ dead letter ──Retry──▶ settled
//
// The ledger is double entry. Every movement of money is a transaction whose lines sum to zero. One function
// (booking.Book) writes all kinds:
//
//	deposit   world          → sponsor:<id>
//	fund      sponsor:<id>   → escrow:<campaign>
//	pay       escrow:<c>     → user:<id>, …        one for each campaign in a batch of outbox entries
//	reclaim   escrow:<c>     → sponsor:<id>
//	withdraw  user:<id>      → clearing:<id>       a player requests a withdrawal
//	paid      clearing:<id>  → world               the provider paid it
//	return    clearing:<id>  → user:<id>           the provider refused it, or operators returned it
//	hold      user:<id>      → held:<id>           in the database transaction that pays a win
//	release   held:<id>      → user:<id>           an operator gives the win to its player
//	confirm   held:<id>      → sponsor:<id>        an operator gives the win back to the sponsor
//
// Only world may go below zero. It is many rows, so that no transaction waits for it. Each kind has source documents,
// the rows that justify the transaction: deposit, campaign, payout, reclaim, withdrawal, held.
//
// An entry that contradicts the ledger becomes a dead letter: a row that an operator sees and can retry, never a
// loss. So does an invalid message, and a withdrawal without a clear answer.
//
// Money leaves through a withdraw.Provider. Withdrawals.Withdraw debits the player's account at once. The
// withdraw.Payer then uses the table of withdrawals as its queue: see ledger.WithdrawalState. All tries of a withdrawal
// have one idempotency key. The first try binds it to its receiver; no other is ever asked to pay it.
//
// reconcile.Reconciler proves, for one campaign or all, that every cent is in exactly one place.
package payout
