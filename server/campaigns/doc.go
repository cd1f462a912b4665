// Package campaigns carries out operators' commands on campaigns (Service). A command is a transition of package rain:
// committed to the database, then applied to Redis, then reported to the other nodes. Each step can be repeated. The
// loops finish what a command or a crash has left half done; they share what they need of their node (Node):
//
//	ReconcileLoop   stocks and applies campaigns that are live
//	Reclaimer       closes campaigns that have expired, and drains those that are closed
//	Rebuilder       restores in Redis what it has lost
//	Mover           moves stock to shards that run dry
//	Odds            sets the odds of rains that leave them to the server
//	Watch           takes shards out whose Redis has gone back in time
//	Proofs          proves the books on a schedule
//	Forgeries       raises one alarm for many invalid seals and dead letters
//	Demo            keeps a campaign raining for a newcomer
package campaigns
