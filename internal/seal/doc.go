// Package seal makes and checks seals: proofs that a node of this installation has written something. Redis and NATS
// carry what is sealed and cannot make any of it, so whoever can write to them can withhold and delay, and not make
// money.
//
// There are four kinds, each made with a key of its own derived from the installation's secret: of a tap that a
// gateway has taken, of the order to close a campaign, of a message to the settlement, and of a notice that one
// node gives the others.
package seal
