package lua

import _ "embed" // for the scripts

// The scripts.
var (
	//go:embed grab.lua
	Grab string // decides a batch of taps

	//go:embed open.lua
	Open string // loads a shard's stock in chunks, then opens it

	//go:embed close.lua
	Close string // shuts a shard for good and turns what is left of its stock into a reclaim

	//go:embed restore.lua
	Restore string // tells Redis again what it has forgotten of a shard

	//go:embed snapshot.lua
	Snapshot string // reads all that a shard knows of its money

	//go:embed newer.lua
	Newer string // updates a hash unless it holds a later revision

	//go:embed once.lua
	Once string // lets one of many callers through

	//go:embed allow.lua
	Allow string // takes from a token bucket

	//go:embed mark.lua
	Mark string // writes a marker for replicas into a full Redis
)
