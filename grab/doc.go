// Package grab decides who gets which packet. A node's taps come in at a Gate, one for each campaign:
//
//	Gate.Tap ── known already? in the air? a decoy? too fast? sold out? ──▶ answered here, at no cost to Redis
//	   │
//	   └─▶ coalescer ── all that came while the last batch was away ──▶ decider ──▶ store.Batch (grab.lua) ──▶ outbox
//	                                                                       ├─▶ losers: Answer
//	                                                                       └─▶ confirm.Confirmer ──▶ winners: Answer
//
// What a Gate knows of its players is a cache that any node may lose: the script alone decides, and it gives a win
// again to whoever asks again.
//
// The packages below: grab/store is what is in Redis, grab/confirm makes sure of wins before they are told,
// grab/outcome names what can come of a tap. Tests have their campaigns from grab/grabtest.
//
// Times are Unix milliseconds on the cluster's clock, which is Redis's own: see store.Clock.
package grab
