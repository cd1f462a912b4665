// Package rain holds the types of the domain and makes every decision that needs no I/O: what falls,
// when, how a budget is split, what a tap meets, and which state of a campaign may follow which.
//
// Everything here is a pure function of its arguments. There is no clock, no source of randomness and
// no I/O; callers pass the time (Unix milliseconds on the cluster's clock) and secret seeds. That is
// why every node computes the same rain without asking another, and why anybody can check a rain
// afterwards from its revealed seed.
//
// The life of a campaign (Campaign.Status), and the phase of a rain (Rain.Phase):
//
//	loading ──stocked──▶ open ◀──▶ paused          countdown ──▶ falling ──▶ ended
//	   │                  │          │                   │▲          ▲│
//	   └──given up──▶ closed ◀───────┘                   └▶ paused ◀─┘
//
// Stop and close end a rain in any phase.
//
// The package imports the standard library only.
package rain
