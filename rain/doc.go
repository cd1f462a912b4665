// Package rain holds the words of the domain and decides everything that can be decided without I/O:
// what falls, when, how a budget is split, and which step of a campaign's life may follow which.
//
// Everything here is a pure function of its arguments. There is no clock, no source of randomness and
// no I/O; callers pass the time (Unix milliseconds on the cluster's clock) and secret seeds. That is
// why every node computes the same rain without asking another, and why anybody can check a rain
// afterwards from its revealed seed.
//
// The life of a campaign (Campaign.Status), and the phase of a rain (Rain.Phase):
//
//	loading ──stocked──▶ open ◀──▶ paused          countdown ──▶ falling ──▶ ended
//	                      │          │                   │           ▲│
//	                      └──▶ closed ◀┘                 └─ paused ◀─┘└─ stop, close ─▶ ended
//
// The package imports the standard library only.
package rain
