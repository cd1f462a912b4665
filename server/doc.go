// Package server is the process: its configuration, its back ends, its wiring, and how it starts and stops. What it
// does is in the packages below, which it makes and introduces to each other; imports run downwards only:
//
//	api         the HTTP API: handlers, access, problems, idempotency, the operators' event feed
//	gateway     players' sockets: hello, join, taps, results, and what the player is told of their money
//	campaigns   operators' commands on campaigns, and the loops that finish them
//	config      the settings: one struct, whose tags make flags, help and docs
//	admission   who comes into a room: lists of players, seats and the queue, limits of one address
//	presence    which players are on which node: Tracker, and each player's Connections
//	names       display profiles of players, shared between nodes
//	risk        rules that judge players, and the client of the operator's own risk system
//	login       one-time codes that sign players in, proofs that a guest is a person
//	live        what this node shows of a rain: phases, waves, counts, figures
//	history     figures of each second of a rain, for the charts
//	cluster     what the nodes know in common: campaigns, the bus, mirrors of small tables, leases
//	sockets     connections of the HTTP server: limits, deadlines, HTTP/2
//	clientip    the client's address behind proxies (X-Forwarded-For, PROXY protocol), and its key of limits
//	timeout     time limits of requests, commands and single questions to a back end
//
// It does not know how a packet is won (grab) or how it becomes money (payout).
//
// The actors, each with a Run that ends with its context, in the order in which run.go stops them. A process has all
// of them unless its roles say otherwise:
//
//	http            the HTTP server with the API, the sockets and the pages
//	admin           the HTTP server of --admin-listen: metrics, health, profiles
//	campaigns       cluster.Registry: reads changed campaigns from the database
//	sanctions       cluster.Mirror: reads new bans from the database, as lists and verdicts do
//	keys            auth.Players: follows the public keys of the identity provider (--jwks-url only)
//	issuer          auth.Issuer: follows the keys of the operators' identity provider (--oidc-issuer only)
//	rooms           room.Lobby: pings and deadlines of the sockets
//	figures         live.Figures: reports this node's counts, and tells the rooms those of all nodes
//	events          api.Events: the operators' feed
//	audience        cluster.Audience: hears what is settled of this node's players, until their sockets are closed
//	admission       admission.Door: keeps the seats of this node's players
//	addresses       admission.Caps: bounds what the guests of one address may have
//	connections     presence.Connections: ends the oldest if a player has too many, over all nodes
//	reconcile loop  campaigns.ReconcileLoop: stocks and applies what was left half done (role operator)
//	reclaimer       campaigns.Reclaimer: closes what has expired, and drains what is closed (role operator)
//	mover           campaigns.Mover: takes stock to shards that run dry; ends the move in its hands (role operator)
//	watch           campaigns.Watch: takes shards out whose Redis has gone back in time (role operator)
//	odds            campaigns.Odds: sets the odds of rains with the odds auto (role operator)
//	history         history.Recorder: keeps the figures of each second of a rain, for the charts (role operator)
//	reconciliation  campaigns.Proofs: reconciles the books every --reconcile-every, and all each night (role operator)
//	audit roots     chain.RootRounds: hashes new rows, takes the root of each day (role operator)
//	demo            campaigns.Demo: the campaign that a newcomer plays (in-process default only)
//	deciders        pipeline.Deciders: what this node has decided → JetStream (role gateway)
//	relay           pipeline.Relay: what stays in an outbox → JetStream (role relay)
//	settlement      pipeline.Settler: JetStream → ledger (role settle)
//	forgeries       campaigns.Forgeries: alarms about invalid seals and dead letters, many in one
//	bus             cluster.Bus: rejects notices without a valid seal; one with a newer key waits for the key
//	withdrawals     withdraw.Payer: ledger → payment provider (role settle)
//	clock           store.Clock: follows the cluster's time
//	seals           posting.Seals: follows the keys of the seals, which another node may rotate
//
// The schedule of the rains (live.Schedule) is no actor: it has a goroutine for each room that is open.
package server
