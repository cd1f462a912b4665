// Package store is all that redrain keeps in Redis: the keys (keys.go names them all), the typed calls of the
// scripts in package lua, and the outbox from which wins become money. Each type does one job over one Store, and
// is made with it.
//
//	Store     the connection, its scripts, and what is wrong with Redis's configuration
//	Batch     taps, decided by the script
//	Stock     brings packets in, opens, changes and closes a campaign
//	Outbox    what has been decided and is not in the ledger yet
//	Wins      what players have won
//	Ranking   who has won most
//	Sums      what is left and what is given away, also as one moment's picture
//	Restorer  tells Redis again what it has lost
//	Nodes     what the nodes have counted
//	Limits    token buckets that all nodes share
//	Moves     takes stock from one shard to another
//	Clock     the time of Redis, which is the cluster's
//
// The states of one shard of a campaign (field "status" of its hash):
//
//	(nothing) ──Open: load──▶ loading ──Open: finish, once all shards are loaded──▶ open ◀──Apply──▶ paused
//	                             │                                                     │              │
//	                             └───────────────CloseCampaign──▶ closed ◀─────────────┴──────────────┘
//
// What Redis has lost comes back through RestoreAs: the shard has the status rebuilding, and is treated as absent,
// until all of it is there; then it is open, without a rain, or closed.
//
// Times are Unix milliseconds on the cluster's clock, which is Redis's own: see Clock.
package store
