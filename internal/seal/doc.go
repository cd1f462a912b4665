// Package seal makes and checks seals: proofs that a node of this installation has written a text. Redis and NATS
// carry sealed texts and cannot make them. So an attacker who can write to them can withhold and delay, and cannot
// make money.
//
// There are four kinds, each made with its own key, which is derived from the installation's secret. They seal
// accepted taps, orders to close a campaign, messages to the settlement and notices between nodes.
package seal
