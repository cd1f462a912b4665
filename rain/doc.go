// Package rain holds the types of the domain. It makes every decision that needs no I/O. These are the schedule of a
// rain, the split of a budget, the outcome of a tap, and the transitions of a campaign.
//
// Everything here is a pure function of its arguments. There is no clock, no source of randomness and no I/O. Callers
// pass the time (Unix milliseconds on the cluster's clock) and secret seeds. So every node computes the same rain
// without asking another node, and anyone can check a rain afterwards from its revealed seed.
//
// The life of a campaign (Campaign.Status), and the phase of a rain (Rain.Phase):
//
//	loading ──stocked──▶ open ◀──▶ paused          countdown ──▶ falling ──▶ ended
//	   │                  │          │                   │▲          ▲│
//	   └──given up──▶ closed ◀───────┘                   └▶ paused ◀─┘
//
// Stop and close end a rain in any phase.
//
// Beside the standard library the package imports an LRU cache only.
package rain
