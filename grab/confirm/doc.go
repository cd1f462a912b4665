// Package confirm makes sure of wins before their players are told: that the replicas of Redis have them, or
// JetStream, as the operator has chosen (see Mode).
//
// With replica and stream, Outbox also keeps entries from the relay until the loss of the master cannot take them back.
package confirm
