package lua

import _ "embed" // for the scripts

// The scripts.
var (
	//go:embed grab.lua
	Grab string // decides a batch of taps

	//go:embed open.lua
	Open string // stocks a shard and opens it

	//go:embed close.lua
	Close string // closes a shard for good and turns the rest of its stock into reclaims

	//go:embed restore.lua
	Restore string // restores a shard that Redis has lost

	//go:embed snapshot.lua
	Snapshot string // reads a shard's stock

	//go:embed wins.lua
	Wins string // reads a player's wins

	//go:embed lend.lua
	Lend string // takes packets out of a shard's stock for another shard

	//go:embed borrow.lua
	Borrow string // puts packets into a shard's stock that another shard has lent

	//go:embed lose.lua
	Lose string // closes a shard for taps if Redis has lost a part of it

	//go:embed newer.lua
	Newer string // updates a hash unless it holds a later revision

	//go:embed allow.lua
	Allow string // takes from a token bucket

	//go:embed admit.lua
	Admit string // admits a player to a room, or returns their position

	//go:embed seats.lua
	Seats string // renews slots in a room, or frees them

	//go:embed allot.lua
	Allot string // leases wins of an address's guests to nodes

	//go:embed sit.lua
	Sit string // gives guests of one address slots

	//go:embed mark.lua
	Mark string // writes a marker for replicas into a full Redis
)
