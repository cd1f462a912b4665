// Package chain ties the rows of append-only tables together: each row carries a hash over what it says and over the
// hash of the row before. Whoever changes, removes or adds a row changes the hash of every later one.
//
// There is not one chain but several, its stripes, because a chain is written by one transaction at a time. A
// transaction takes any stripe that nobody holds, and makes a new one where all are held, so nobody waits. Its rows get
// the stripe's number and their place in it, the link, counted from 1. The stripe's head, which the transaction has
// locked until its commit, knows how many links there are and the hash of the last one; a transaction that is rolled
// back leaves no trace in it.
//
// The chain is worth as much as what an attacker cannot reach: the roots. A root says how long each stripe was at the
// end of a day, with its hash, and is written to the log and to a file, and told to whoever asks.
package chain
