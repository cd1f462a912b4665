// Package statement compares statements with the ledger: a provider's payments with withdrawals, and incoming
// payments at a bank with deposits. It changes nothing. An operator handles the differences.
//
// A statement is CSV with a header, or a bank's camt.052, camt.053 or camt.054.
package statement
