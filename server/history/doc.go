// Package history stores the figures of raining campaigns: one row a second, thinned as it ages. The rows are in the
// ledger's database, but not part of the ledger. So the charts survive a reload and a restart.
//
// One node at a time writes, by a lease. A second that no node could write is a gap in a chart.
package history
