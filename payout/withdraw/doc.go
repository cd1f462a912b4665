// Package withdraw pays withdrawals through a payment provider.
package withdraw
