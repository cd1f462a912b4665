// Package chain makes changes of the ledger's transactions and of the audit evident.
//
// Each transaction and each audit record is written with a SHA-256 of its content: of a transaction also of its lines
// and of its papers, the rows that say what it was for. A hasher in the background hashes the rows of each table, in
// the order of their ids, into blocks, each of which holds the hash of the block before. Once a day the newest blocks
// are written down as the root of the day: into the log, a file and the API. Verify compares rows, blocks and roots.
//
// A root that was kept outside the database is what an attacker cannot change. Rows that are not in a block yet, for
// about two minutes, are held by their own hashes only.
package chain
