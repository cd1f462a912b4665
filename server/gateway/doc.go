// Package gateway is the players' sockets: it upgrades connections (gateway.go), reads each in a goroutine of its own
// (reading.go), answers what a player says (requests.go, session.go, welcome.go), hands out the results of taps
// (taps.go), and tells the players of this node what has become money (notices.go, arrivals.go).
//
// What is written goes through package room, which owns the connection from the upgrade on.
package gateway
