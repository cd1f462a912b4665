// Package chain makes changes of the ledger's transactions and of the audit evident.
//
// Each transaction and each audit record is written with a SHA-256 of its content. A transaction's content includes
// its lines and its source documents. RootRounds hash the rows of the tables txn and audit, in the order of their ids,
// into blocks. Each block holds the hash of the previous one. Once a day the newest blocks become the root of the day,
// which goes to the log, a file and the API. Verify compares rows, blocks and roots.
//
// An attacker cannot change a root that is kept outside the database. Rows that are not in a block yet, for about two
// minutes, are protected by their own hashes only.
package chain
