// Package gateway is the players' sockets: it upgrades connections (gateway.go), reads each in a goroutine of its own
// (reading.go), says hello, joins and complains (session.go, welcome.go), takes taps and hands out their results
// (taps.go), and tells the players of this node what has become money (notices.go, arrivals.go).
//
// What is written goes through package room, which owns the connection from the upgrade on.
package gateway
