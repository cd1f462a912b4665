// Package admission decides who comes into a room, on all nodes alike: Lists by name and address, a Door by the
// campaign's capacity (rain.Campaign.Waits), Caps by the address of guests.
//
//	err := lists.MayPlay(ctx, campaign, user, address)     // standing.ErrDenied, standing.ErrNotInvited
//	turn, err := door.Enter(ctx, campaign, user)           // a seat, or a place in the queue (store.Admission)
//	quota, err := caps.Enter(ctx, campaign, address, user) // ErrAddressFull
//	…
//	door.Leave(campaign.ID, user, left)
//	caps.Leave(campaign.ID, address, user)
//
// A node reads all lists and their networks, and looks up a player at their arrival, never at a tap. After a change of
// a list it screens the players who are here.
//
// The Run of Door and Caps reports to Redis every ten seconds which players are still here, and gives up the seats of
// the others. If Redis fails, players keep their seats and newcomers are told that it is unavailable. A Redis that has
// forgotten the seats learns them with each node's next report; until then it may let in too many.
//
// Caps limit seats and wins of one address, because it can make any number of guests. Other players are not limited,
// because an office has one address, nor are the networks of Exempt. An address is the key of package clientip: of IPv6
// a /64. Wins are lent to the nodes (lua/allot.lua), so a tap needs no call. Unused wins are missing elsewhere until
// they are returned, within half a minute. A node that dies loses its unused wins. A Redis that has forgotten learns
// the wins within ten seconds; until then an address may win the other nodes' share once more.
package admission
