// Package ledger is the books and what belongs to them: campaigns and what is left of their money, sponsors, players'
// claims, withdrawals, dead letters, what operators did, leases, answers to requests. [Ledger] has all of it; each of
// its parts is a type of its own for who needs no more.
package ledger
