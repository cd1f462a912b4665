// Package embedded holds the servers that run inside the redrain process when no real one is named: a stand-in for
// Redis and a NATS server with JetStream. The clients on top of them are those of production. (The third back end
// of the in-process default, SQLite, is opened by package sqldb.)
//
// [Redis] speaks the protocol of Redis on a loopback port and keeps its data in memory. It runs one command at a time
// and makes a new Lua state for each script call, which limits it to some 8,000 calls a second; batching the taps makes
// that fast enough. It accepts keys of any slots in one call: only a real Cluster refuses a script that uses keys of
// two slots.
//
// [NATS] is the real server as a library, with a file store.
package embedded
