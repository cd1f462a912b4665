// Package rollback notices a ledger that has gone back in time: a database that was put back from a backup, or that has
// lost its newest commits in a failover, beside a Redis, a stream and payment providers that have gone on.
//
// Such a ledger does not know what was paid since, so players have money in it that they have been paid. The rows alone
// cannot tell: they are as they were. So how far the ledger has come is kept outside it, in JetStream, as its newest
// rows with their hashes. A ledger that does not have these any more counts as put back (see [ledger.Restores]):
// withdrawals wait for an operator, and the stream is read again.
//
// Whoever can write to NATS can so have withdrawals wait, as they can anyway; nobody is paid for it.
package rollback
