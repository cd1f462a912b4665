// Package paytest is what tests of all of payout share: books on a database, a fake of Redis, a log that is checked.
package paytest
