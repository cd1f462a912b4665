// Package posting posts outbox entries to the ledger, each once. Entries that contradict the ledger become
// dead letters.
package posting
