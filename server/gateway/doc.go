// Package gateway serves the players' sockets. It upgrades connections (gateway.go), reads each in its own goroutine
// (reading.go), and answers requests (requests.go, session.go, welcome.go). It delivers the results of taps
// (taps.go), and notifies the players of this node of settlements (notices.go, arrivals.go).
//
// All writes go through package room, which owns the connection from the upgrade on.
package gateway
