// Package paytest has helpers for the tests of payout: books on a database, a fake Redis, a checked log.
package paytest
