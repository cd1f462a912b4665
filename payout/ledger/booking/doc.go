// Package booking is double entry: accounts, transactions whose lines sum to zero, balances. It does not know the
// purpose of the money.
package booking
