// Package confirm makes sure of wins before their players are told: that a replica of Redis has them, or JetStream, as
// the operator has chosen (see Mode).
//
// It also holds back what leaves Redis on its way to the ledger until it outlives its master (see Outbox).
package confirm
