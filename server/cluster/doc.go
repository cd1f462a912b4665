// Package cluster is what the nodes of a cluster know in common: the campaigns (Known, kept fresh by Registry), bans,
// verdicts and lists (Mirror), the messages between nodes (Bus), and who tells the cluster once that a win is settled
// (Notifier).
//
// A message of the bus may be lost. Each has something slower behind it that heals: the registry's refresh, the claims
// in the next welcome, the script's own answer that a stock is empty.
package cluster
