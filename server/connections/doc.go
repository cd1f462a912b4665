// Package connections knows each player's connections over all nodes: it ends the oldest where a player has too many,
// and tells on how many nodes a player is, among which the tap rate is shared.
//
// What a node knows of its own players it writes to Redis (store.Connections), and reads there what the others have
// written. Each node comes to the same conclusion from the same list, in which the order is by the time of the hello;
// of two nodes that write at once the later one sees both connections, and tells the other's node of what concerns it.
// A notice that is lost is made up for when the nodes write everything again. Without Redis each node goes by what it
// knows itself.
package connections
