// Package server is the process: its configuration, back ends, wiring, start and shutdown. The packages below do the
// work, and server connects them. Imports go downwards only:
//
//	api         the HTTP API: handlers, access, problems, idempotency, the operators' event feed
//	gateway     players' sockets: hello, join, taps, results, and notices of settlements
//	campaigns   operators' commands on campaigns, and the loops that complete them
//	config      the settings: one struct, whose tags define flags, help and docs
//	admission   who may enter a room: lists of players, slots and the queue, limits of one address
//	presence    which players are on which node: Tracker, and each player's Connections
//	names       display profiles of players, shared between nodes
//	risk        rules that judge players, and the client of the operator's own risk system
//	login       one-time codes that sign players in, CAPTCHAs for guests
//	live        the display of a rain on this node: phases, waves, counts, figures
//	history     figures of each second of a rain, for the charts
//	cluster     state that the nodes share: campaigns, the bus, mirrors of small tables, leases
//	alarms      the open alarms, and their posts to --alarm-url
//	health      checks of the back ends, /readyz, the oldest unpaid win
//	doctor      redrain doctor: settings of the back ends, rights, clocks, addresses, limits
//	sockets     connections of the HTTP server: limits, deadlines, HTTP/2
//	clientip    the client's address behind proxies (X-Forwarded-For, PROXY protocol), and its key of limits
//	timeout     time limits of requests, commands and single calls of a back end
//
// Package grab decides the wins, and payout makes money of them.
//
// The actors, each with a Run that ends with its context, in the order in which run.go stops their groups: front,
// upkeep, money, base, last. A process has all of them unless its roles say otherwise:
//
//	http            the HTTP server with the API, the sockets and the pages
//	sockets         sockets.Table: closes connections that have waited for too long
//
//	campaigns       cluster.Registry: reads changed campaigns from the database
//	sanctions       cluster.Mirror: reads new bans from the database; so do lists and verdicts
//	keys            auth.Players: follows the public keys of the identity provider (--jwks-url only)
//	issuer          auth.Issuer: follows the keys of the operators' identity provider (--oidc-issuer only)
//	player issuer   auth.Issuer: the same for players (--player-oidc-issuer only)
//	wechat ticket   login.Tickets: keeps WeChat's ticket for the JS-SDK fresh (--wechat-login-app-id only)
//	rooms           room.Lobby: pings and deadlines of the sockets
//	figures         live.Figures: reports this node's counts, and sends the rooms those of all nodes
//	events          api.Events: the operators' feed
//	admission       admission.Door: keeps the slots of this node's players
//	addresses       admission.Caps: limits the slots and wins of one address's guests
//	connections     presence.Connections: ends the oldest if a player has too many, over all nodes
//	names           names.Book: publishes and reads display profiles
//	risk            risk.Watch: judges the players of this node who have tapped
//	rollback        rollback.Detector: detects a ledger that has gone back in time
//	reconcile loop  campaigns.ReconcileLoop: completes interrupted commands (role operator)
//	reclaimer       campaigns.Reclaimer: closes expired campaigns, and drains closed ones (role operator)
//	mover           campaigns.Mover: moves stock to empty shards; at its end it completes the move (role operator)
//	watch           campaigns.Watch: takes shards of a Redis that was rolled back out of service (role operator)
//	odds            campaigns.Odds: sets the odds of rains with the odds auto (role operator)
//	history         history.Recorder: keeps the figures of each second of a rain, for the charts (role operator)
//	reconciliation  campaigns.Proofs: reconciles the books every --reconcile-every, and all each night (role operator)
//	audit roots     chain.RootRounds: hashes new rows, takes the root of each day (role operator)
//	demo            campaigns.Demo: creates the demo campaign (in-process default only)
//	demo payments   playMoney: simulates WeChat Pay (--demo-payments only)
//
//	deciders        pipeline.Deciders: this node's decisions → JetStream (role gateway)
//	relay           pipeline.Relay: entries that stay in an outbox → JetStream (role relay)
//
//	settlement      pipeline.Settler: JetStream → ledger (role settle)
//	forgeries       campaigns.Forgeries: alarms about invalid seals and dead letters, many in one
//	bus             cluster.Bus: rejects notices without a valid seal; one with a newer key waits for the key
//	withdrawals     withdraw.Payer: ledger → payment provider (role settle)
//	provider        asks for the confirmation of another receiver of withdrawals (role settle)
//	health          health.Monitor: checks the back ends, and follows the oldest unpaid win
//	alarms          alarms.Poster: posts the raise and the end of each alarm (--alarm-url and role operator only)
//	nats server     embedded.NATSServer: restarts the in-process NATS server when it cannot write
//	nats            backends.watchNATS: ends the process if the client has closed the connection to NATS for good
//	clock           store.Clock: follows the cluster's time
//	seals           posting.Seals: follows the keys of the seals, which another node may rotate
//
//	admin           the HTTP server of --admin-listen: metrics, health, profiles
//
// The schedule of the rains (live.Schedule) is not an actor: it runs a goroutine for each open room.
package server
