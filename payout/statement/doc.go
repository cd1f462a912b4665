// Package statement holds what a payment provider or a bank says against what the ledger says: a provider's payments
// against withdrawals, what came in at a bank against deposits. It changes nothing; what it finds is for a person.
//
// A statement is CSV, with columns as its header names them, or a bank's camt.052, camt.053 or camt.054.
package statement
