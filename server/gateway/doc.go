// Package gateway serves the players' sockets. It upgrades connections (gateway.go), reads each in its own goroutine
// (reading.go), and answers requests (requests.go, session.go, welcome.go) and taps (taps.go). It refuses players
// (refused.go), and notifies the players of this node of settlements (people.go).
//
// All writes go through package room, which owns the connection from the upgrade on.
package gateway
