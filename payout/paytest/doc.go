// Package paytest is what tests of payout's rooms share: books on a database, a fake of Redis, a log that is checked.
package paytest
