// Package history keeps the figures of campaigns while they rain: one row a second, thinned as it ages, in the ledger's
// database beside the money and no part of it. So the charts of an evening are there after a reload and a restart.
//
// One node at a time writes, by a lease. A second that nobody could write is a hole in a chart and nothing worse.
package history
