// Package admission is the door of campaigns that let in a certain number of players, over all nodes, or so many in a
// second (rain.Campaign.Waits). It asks Redis for a player's turn (store.Admission says in which order), remembers
// who of them is on this node, and keeps their seats.
//
//	Ask     a player who is not there yet: GET /admission
//	Enter   a player who says hello or join; Leave ends it
//	Run     tells Redis every ten seconds who is here still, and gives up the seats of those who have gone
//
// A fault of Redis loses nobody anything: who sits goes on sitting, and who comes is told that it is unavailable for
// now. A Redis that has forgotten its seats knows them again with the nodes' next word; until then it may let in some
// too many.
package admission
