// Package entrytext is how an outbox entry is written, on its way and in a dead letter.
package entrytext
