// Package cluster holds the state that all nodes share: the campaigns (Known, refreshed by Registry), bans, verdicts
// and lists (Mirror). Bus carries messages between nodes, and Notifier publishes settlements on it.
//
// A message of the bus may be lost. Each has a slower fallback: the registry's refresh, the claims in the next welcome,
// the script's own answer that a stock is empty.
package cluster
