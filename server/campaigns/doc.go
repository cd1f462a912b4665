// Package campaigns executes operators' commands on campaigns (Service). A command is a transition of package rain:
// committed to the database, then applied to Redis, then reported to the other nodes. Each step can be repeated. The
// loops complete interrupted commands, and share the parts of their node (Node):
//
//	ReconcileLoop   stocks live campaigns, and applies commands to them
//	Reclaimer       closes expired campaigns, and drains closed ones
//	Rebuilder       restores lost shards in Redis
//	Mover           moves stock to empty shards
//	Odds            sets the odds of rains with the odds auto
//	Watch           takes shards of a Redis that was rolled back out of service
//	Proofs          reconciles the books on a schedule
//	Forgeries       raises one alarm for many invalid seals and dead letters
//	Demo            runs rains on a demo campaign
package campaigns
