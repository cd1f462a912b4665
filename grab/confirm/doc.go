// Package confirm confirms wins before their players are notified: the replicas of Redis have them, or JetStream, as
// the operator has chosen (see Mode).
//
// With replica and stream, Outbox also keeps entries from the outbox sweeper until the loss of the master cannot take
// them back.
package confirm
