// Package booking is double entry: accounts, transactions whose lines sum to zero, balances. It does not know what
// the money is for.
package booking
