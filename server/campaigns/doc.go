// Package campaigns carries out operators' commands on campaigns (Service), and has the loops that finish what a
// command or a crash has left half done:
//
//	ReconcileLoop   stocks and applies campaigns that are live
//	Reclaimer       closes campaigns that have expired, and drains those that are closed
//	Rebuilder       tells Redis again what it has lost
//	Proofs          proves the books on a schedule
//	Demo            keeps a campaign raining for a newcomer
//
// A command is a transition of package rain: committed to the database, then applied to Redis, then told to the other
// nodes. Each step can be repeated.
package campaigns
