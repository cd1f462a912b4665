// Package rollback detects a ledger that has gone back in time while Redis, the stream and the payment providers have
// gone on. Its database was restored from a backup, or has lost its newest commits in a failover.
//
// Such a ledger lacks payments, so players have money in it that was paid to them already. Its rows cannot show that.
// So JetStream keeps a mark: the ledger's newest rows with their hashes. If the ledger does not have these rows any
// more, it counts as restored (see [ledger.Restores]). Then withdrawals wait for an operator, and the stream is read
// again.
//
// An outsider who can write to NATS can make withdrawals wait, as by other means. No payment is made for it.
package rollback
