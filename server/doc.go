// Package server is the process: configuration, wiring, the WebSocket and HTTP surface, access and life cycle.
// It does not know how a packet is won (grab) or how it becomes money (payout); it introduces them to each other
// and to the players.
//
// The actors, one file each:
//
//	registry    campaigns as this node knows them, kept fresh from the ledger's database
//	control     what nodes tell each other over NATS: a campaign changed, claims settled, stock sold out
//	office      operators' commands on campaigns, each a transition of package rain, made durable and then spread
//	keeper      finishes what a command or a crash left half done: stocking, closing, expiry
//	gateway     players' sockets: hello, taps, results
//	rainmaker   sends phases and waves to the rooms of this node, on the cluster's clock
//	figures     counts, once a second, for the rooms and for operators
//	api         the HTTP surface
//	demo        the campaign that a newcomer plays
//
// server.go starts them and stops them in order.
package server
