// Package withdraw has withdrawals paid by a payment provider.
package withdraw
