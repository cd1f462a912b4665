// Package addresses bounds what the guests of one address may have of a campaign together, over all nodes: seats in its
// room, and wins. Whoever has one address can make any number of guests; who has many addresses pays for them. Players
// with a token of somebody's are not bounded, because an office has one address, and neither are the networks that the
// operator knows (Exempt). An address is what package clientip makes of it: of IPv6 a /64.
//
//	Enter   a guest who comes into a room, which is the one call of Redis that they cost; Leave ends it
//	Take    a tap that may win, without a call: see account
//	Run     gets more wins for addresses whose taps need them, and says who is there still
//
// Wins are lent to the nodes, as lua/allot.lua says, so that there are never more than an address may have, however
// many nodes let its guests win. What a node has and does not use is missing elsewhere until it gives it back, within
// half a minute of its last use. A node that dies takes with it what it had and has not used. A Redis that has
// forgotten knows again what was won with each node's next word, within ten seconds; until then an address may win
// once more what other nodes had at that moment.
package addresses
