// Package ledger is the books and what belongs to them: campaigns and what is left of their money, sponsors, players'
// claims, withdrawals, dead letters, what operators did and what takes two of them, leases, answers to requests. Each
// is a type of its own, and [New] makes all of them on one database.
package ledger
