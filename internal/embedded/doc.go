// Package embedded holds the servers that run inside the redrain process when no real one is named: a stand-in for
// Redis and a NATS server with JetStream. The clients on top of them are those of production. (The third back end
// of the in-process default, SQLite, is opened by package sqldb.)
//
// [Redis] speaks the protocol of Redis on a loopback port and keeps all in memory. It runs one command at a time
// and makes a new Lua state for each script call: some 8,000 calls a second, so it is the batching of taps that
// makes it fast enough. It takes a key of any slot in any call; only a real Cluster finds a script that uses keys
// of two slots.
//
// [NATS] is the real server as a library, with a file store.
package embedded
