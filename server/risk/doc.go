// Package risk judges players by how they play, and says why. Signals are gathered beside the tap, in a few numbers
// for each player; the rules are pure functions of them (rules.go); a verdict goes into the ledger, where whoever pays
// reads it: a node need not know what another one has found out.
package risk
