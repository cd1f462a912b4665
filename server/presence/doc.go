// Package presence tracks which players are on which node. A [Tracker] counts the members of groups on this node and
// writes them to Redis or NATS. It writes arrivals and departures in batches. It writes all members again from time to
// time, so that those of a dead node expire. Admission, addresses and connections use one each.
//
// [Connections] tracks each player's connections over all nodes. It ends the oldest if a player has too many, and
// counts the player's nodes, which share the tap rate.
//
// Each node comes to the same conclusion from the same list, which is ordered by the time of the hello. If two nodes
// write at once, the later one reads both connections and notifies the other node. A lost notice is repeated when the
// nodes write everything again. Without Redis each node uses its own connections only.
package presence
