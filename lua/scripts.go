package lua

import _ "embed" // for the scripts

// The scripts.
var (
	//go:embed grab.lua
	Grab string // decides a batch of taps

	//go:embed open.lua
	Open string // stocks a shard and opens it

	//go:embed close.lua
	Close string // shuts a shard for good and turns what is left of its stock into reclaims

	//go:embed restore.lua
	Restore string // tells Redis again what it has forgotten of a shard

	//go:embed snapshot.lua
	Snapshot string // reads what a shard has in stock

	//go:embed wins.lua
	Wins string // reads a player's wins

	//go:embed lend.lua
	Lend string // takes packets out of a shard's stock for another shard

	//go:embed borrow.lua
	Borrow string // puts packets into a shard's stock that another shard has lent

	//go:embed lose.lua
	Lose string // takes a shard out of the game that Redis knows too little of

	//go:embed newer.lua
	Newer string // updates a hash unless it holds a later revision

	//go:embed allow.lua
	Allow string // takes from a token bucket

	//go:embed admit.lua
	Admit string // lets a player into a room, or tells their place

	//go:embed seats.lua
	Seats string // keeps seats in a room, or gives them up

	//go:embed allot.lua
	Allot string // lends nodes wins that the guests of an address may still have

	//go:embed sit.lua
	Sit string // seats guests of one address

	//go:embed mark.lua
	Mark string // writes a marker for replicas into a full Redis
)
