// Package pipeline carries wins from the outboxes through JetStream to the ledger. Every step may be repeated.
package pipeline
