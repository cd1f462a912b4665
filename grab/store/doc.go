// Package store holds all state of redrain in Redis. It has the keys (keys.go names them all), the typed calls of the
// scripts in package lua, and the outbox from which wins become money. Each type does one job over one Store, and is
// made with it. Only Clock is made with a client of Redis.
//
//	Store        the connection, its scripts, and warnings about Redis's configuration
//	Batch        taps, decided by the script
//	Stock        brings packets in, opens, changes and closes a campaign
//	Outbox       decisions that are not in the ledger yet
//	Wins         wins of players
//	Ranking      the players who have won most
//	Sums         stock and won packets, also as a snapshot
//	Restorer     restores the state that Redis has lost
//	Nodes        counts of the nodes
//	Limits       token buckets that all nodes share
//	Moves        moves stock from one shard to another
//	Clock        the time of Redis, which is the cluster's
//	Admission    slots and queues of rooms
//	Addresses    limits of the guests of one address
//	Connections  the connections of each player
//	Common       players with a common trait, for the risk rules
//	Names        display profiles
//	Logins       values of login codes, and of logins in progress
//	Tickets      tickets of WeChat apps
//
// The states of one shard of a campaign (field "status" of its hash):
//
//	(nothing) ──Open──▶ open ◀──Apply──▶ paused
//	                     └──CloseCampaign──▶ closed ◀──┘
//
// RestoreAs restores lost state. The shard has the status rebuilding, and is treated as absent, until all of it is
// there. Then it is open, without a rain, or closed.
//
// Times are Unix milliseconds on the cluster's clock, which is Redis's own: see Clock.
package store
