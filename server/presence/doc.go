// Package presence tracks which players are on which node. A [Tracker] counts the members of groups on this node and
// writes them to Redis or NATS: arrivals and departures in batches, everything again from time to time, so that members
// of a node that has died expire. Admission, addresses and the audience of settlements use one each.
//
// [Connections] tracks each player's connections over all nodes. It ends the oldest if a player has too many, and
// reports on how many nodes a player is, because nodes share the tap rate.
//
// Each node comes to the same conclusion from the same list, which is ordered by the time of the hello. If two nodes
// write at once, the later one reads both connections and notifies the other node. A notice that is lost is made up for
// when the nodes write everything again. Without Redis each node goes by what it knows itself.
package presence
