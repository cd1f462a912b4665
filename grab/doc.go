// Package grab decides which player gets which packet. A node's taps come in at a Gate, one for each campaign:
//
//	Gate.Tap ── known already? in flight? not in the air? too fast? a decoy? ──▶ answered here, at no cost to Redis
//	   │        all wins allowed? sold out? no luck? quota used up? ───────────┘
//	   └─▶ coalescer ── all that came while the last batch was away ──▶  shard  ──▶ store.Batch (grab.lua) ──▶ outbox
//	                                                                       ├─▶ losers: Answer
//	                                                                       └─▶ confirm.Confirmer ──▶ winners: Answer
//
// A Gate only caches the state of its players, and any node may lose it. The script alone decides, and it returns the
// same win if a tap is sent again.
//
// Package grab/store accesses Redis, grab/confirm confirms wins before players are notified, and grab/outcome names
// the outcomes of a tap. Tests have their campaigns from grab/grabtest.
//
// Times are Unix milliseconds on the cluster's clock, which is Redis's clock: see store.Clock.
package grab
