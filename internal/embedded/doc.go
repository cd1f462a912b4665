// Package embedded holds the in-process back ends of the redrain process: a Redis server and a NATS server with
// JetStream. The clients on top of them are those of production. (Package sqldb opens the third one, SQLite.)
//
// [Redis] speaks the protocol of Redis on a loopback port and keeps its data in memory. It runs one command at a time
// and makes a new Lua state for each script call. This limits it to some 8,000 calls a second. Batching makes this
// fast enough for taps. It accepts keys of any slots in one call: only a real Cluster refuses a script that uses keys
// of two slots.
//
// [NATS] is the real server as a library, with a file store.
package embedded
