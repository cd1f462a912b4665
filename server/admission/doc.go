// Package admission admits players to rooms, on all nodes alike: Lists by name and address, a Door by the campaign's
// capacity (rain.Campaign.Waits), Caps by the address of guests.
//
//	err := lists.MayPlay(ctx, campaign, user, address)     // standing.ErrDenied, standing.ErrNotInvited
//	turn, err := door.Enter(ctx, campaign, user)           // a slot, or a queue position (store.Admission)
//	quota, err := caps.Enter(ctx, campaign, address, user) // ErrAddressFull
//	…
//	door.Leave(campaign.ID, user, left)
//	caps.Leave(campaign.ID, address, user)
//
// A node reads all lists and their networks, and looks up a player at their arrival, never at a tap. After a change of
// a list it screens the players who are here.
//
// The Run of Door and Caps reports this node's players to Redis every ten seconds, and frees the slots of the others.
// If Redis fails, players keep their slots, and newcomers get "unavailable". If Redis loses the slots, each node's next
// report restores them; until then too many players may be admitted.
//
// Caps limit slots and wins of one address, because it can create any number of guests. Other players are not limited,
// because an office has one address, nor are the networks of Exempt. An address is the key of package clientip: of IPv6
// a /64. Wins are leased to the nodes (lua/allot.lua), so a tap needs no call. Other nodes lack unused wins until they
// are returned, within half a minute. A node that dies loses its unused wins. If Redis loses the leases, it has them
// again within ten seconds; until then an address may win the other nodes' share once more.
package admission
