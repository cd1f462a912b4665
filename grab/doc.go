// Package grab decides who gets which packet. It owns everything that is in Redis: the keys (keys.go names them
// all), the typed calls of the scripts in package lua, and the outbox from which wins become money.
//
// The way of a tap through this package:
//
//	Gate.Tap ── known already? in the air? a decoy? too fast? sold out? ──▶ answered here, at no cost to Redis
//	   │
//	   └─▶ coalescer ── everything that came while the last batch was away ──▶ grab.lua ──▶ confirmer ──▶ results
//	                                                                             └──▶ outbox ──▶ package payout
//
// What a Gate remembers is a convenience that any node may lose: the script alone decides, and it gives a win again to
// whoever asks again.
//
// The life of one shard of a campaign in Redis (field "status" of its state):
//
//	(nothing) ──Open: load──▶ loading ──Open: finish, once all shards are loaded──▶ open ◀──Apply──▶ paused
//	                             │                                                     │              │
//	                             └───────────────CloseCampaign──▶ closed ◀─────────────┴──────────────┘
//
// What Redis has lost comes back through Restore: rebuilding until all of it is there, which counts as nothing for
// everybody else, and then open, without a rain, or closed.
//
// Times are Unix milliseconds on the cluster's clock, which is Redis's own: see Clock.
package grab
