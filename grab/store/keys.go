package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Only this file names keys. All keys of one shard have one hash tag, {<campaign>.<shard>}, and so are on one slot of
// a Redis Cluster. The namespace ("rr" unless set) separates several installations on one Redis.
//
//	rr:{<campaign>.<shard>}:state      hash; its fields are below
//	rr:{<campaign>.<shard>}:stock      list of the packets left: ranges "<first>-<last>", and a "."; see close.lua
//	rr:{<campaign>.<shard>}:wins       hash: the players' wins; see grab.lua
//	rr:{<campaign>.<shard>}:taps       hash: the players' taps; only with taps_per_user
//	rr:{<campaign>.<shard>}:outbox     stream of unpaid entries
//	rr:{<campaign>.<shard>}:lent       hash: stock in flight to other shards; see lend.lua
//	rr:{<campaign>.<shard>}:borrowed   hash: moves that have brought stock; see borrow.lua
//	rr:{<campaign>.<shard>}:confirmed  string, expires: a write for replicas to acknowledge with all before it
//	rr:{<campaign>.<shard>}:top        sorted set: the players who have won most → the sum of their wins
//	rr:{<campaign>.0}:nodes            hash: counts of each node; "n:<node>" → JSON, "r:<node>" → its revision
//	rr:{<campaign>.0}:teller           string, expires: the node that adds up the figures for all
//	rr:{allow.<name>.<key>}:bucket     hash, expires: a token bucket that all nodes share
//	rr:{login.<name>}:pass             string, expires: the value of a login code or of a login in progress, sealed
//	rr:{wechat.<app>}:ticket           string, expires: WeChat's ticket that signs pages for its JS-SDK
//	rr:{player.<id>}:connections       hash, expires: "<node>.<number>" → since when, Unix ms
//	rr:{player.<id>}:name              string, expires: the player's display profile, JSON; see players.go
//	rr:{player.<id>}:hands             hash, expires: node → the player's tap profile there; see common.go
//	rr:{common.<kind>.<hash>}:players  sorted set, expires: the players with that trait → since when, Unix ms
//	rr:{connections}:nodes             sorted set, expires: the nodes with players → time of their last report
//	rr:{<campaign>.room}:seats         sorted set: the players with a slot in the room → until when, Unix ms
//	rr:{<campaign>.room}:queue         sorted set: the waiting players → their number in the order of arrival
//	rr:{<campaign>.room}:asked         sorted set: the waiting players → until when their position is kept, Unix ms
//	rr:{<campaign>.room}:nodes         hash: the players with a slot → their node
//	rr:{<campaign>.room}:door          hash: the newest number, and the latest admissions; see admit.lua
//	rr:{<campaign>.room}:allotted      hash, expires: leased and won packets of each address's guests; see allot.lua
//	rr:{<campaign>.room}:guests.<address>  sorted set, expires: an address's guests who are there → until when
//	rr:{installation}:name             string: the name of this Redis in its installation; see guard.go
//	rr:{probe.<n>}:outbox              never there: a check whether a master takes writes; see probe.lua
//
// The first seven exist from a shard's opening on, if only with an empty field. While a slot is migrating to another
// node, a Cluster refuses a command on several keys if some do not exist.

// defaultNamespace begins every key unless Options.Namespace says otherwise.
const defaultNamespace = "rr"

// The fields of a shard's state, with those of campaignFields and rainFields. Times are Unix milliseconds.
const (
	fieldRevision = "rev"    // of the campaign; absent if the shard is lost
	fieldStatus   = "status" // open, paused, closed; rebuilding
	fieldLeft     = "left"   // packets in the stock
	fieldWon      = "won"    // packets won
	fieldLast     = "last"   // id of the newest outbox entry ever, also after its removal
	fieldMoves    = "moves"  // moves of stock from and to this shard
	fieldEpoch    = "epoch"  // time of the last fence of the shard, Unix ms
	fieldClaim    = "claim"  // epoch of the shard in the stream, see package confirm; only with --confirm stream
	// The scripts have more fields: "base_wave" and "base", the rain for which the pacing was begun, and the stock at
	// that moment. "restorer" and "chunk" name the restoration and its last chunk.
)

// nothingYet is the id of an entry before all others.
const nothingYet = "0-0"

// keys names keys within a namespace.
type keys struct{ namespace string }

// Keys are the keys of one shard.
type Keys struct{ State, Stock, Wins, Taps, Outbox, Lent, Borrowed, Confirmed, Top string }

func (k keys) shard(campaign string, shard int) Keys {
	p := k.tag(campaign, shard)
	return Keys{
		State: p + "state", Stock: p + "stock", Wins: p + "wins", Taps: p + "taps", Outbox: p + "outbox",
		Lent: p + "lent", Borrowed: p + "borrowed", Confirmed: p + "confirmed", Top: p + "top",
	}
}

// opening returns the keys that a shard has from its opening on.
func (k Keys) opening() []string {
	return []string{k.State, k.Stock, k.Wins, k.Taps, k.Outbox, k.Lent, k.Borrowed}
}

// grabbing returns the keys of a tap.
func (k Keys) grabbing() []string { return []string{k.State, k.Stock, k.Wins, k.Taps, k.Outbox} }

func (k keys) tag(campaign string, shard int) string {
	return k.namespace + ":{" + campaign + "." + strconv.Itoa(shard) + "}:"
}

func (k keys) nodes(campaign string) string { return k.tag(campaign, 0) + "nodes" }

func (k keys) installation() string { return k.namespace + ":{installation}:name" }

func (k keys) upNodes() string { return k.namespace + ":{connections}:nodes" }

// player returns one of a player's keys: connections, name or hands.
func (k keys) player(user, key string) string {
	return k.namespace + ":{player." + plainOrHash(user) + "}:" + key
}

// common returns the key of the players with a common trait. The trait itself is hashed.
func (k keys) common(kind, value string) string {
	return k.namespace + ":{common." + kind + "." + hash(value) + "}:players"
}

func (k keys) teller(campaign string) string { return k.tag(campaign, 0) + "teller" }

// roomKeys are the keys of a campaign's room, which has its own slot: arriving and waiting players cost no shard
// anything.
type roomKeys struct{ seats, queue, asked, nodes, door, allotted string }

func (k keys) room(campaign string) roomKeys {
	p := k.namespace + ":{" + campaign + ".room}:"
	return roomKeys{
		seats: p + "seats", queue: p + "queue", asked: p + "asked", nodes: p + "nodes", door: p + "door",
		allotted: p + "allotted",
	}
}

// guests returns the key of the guests of one address in a campaign's room.
func (k keys) guests(campaign, address string) string {
	return k.namespace + ":{" + campaign + ".room}:guests." + plainOrHash(address)
}

// The prefixes of the fields of the hash of the nodes' reports.
const nodePrefix, nodeRevisionPrefix = "n:", "r:"

// bucket returns the key of a token bucket. Its name may come from outside (an address), so any text but plain
// characters, braces above all, is replaced by its hash.
func (k keys) bucket(name, key string) string {
	return k.namespace + ":{allow." + name + "." + plainOrHash(key) + "}:bucket"
}

// ticket returns the key of the ticket of a WeChat app.
func (k keys) ticket(app string) string {
	return k.namespace + ":{wechat." + plainOrHash(app) + "}:ticket"
}

// login returns the key of the value for a login code.
func (k keys) login(name string) string {
	return k.namespace + ":{login." + plainOrHash(name) + "}:pass"
}

// probe returns one of the keys that are written to check Redis. They are spread over the slots.
func (k keys) probe(n int) string { return k.namespace + ":{probe." + strconv.Itoa(n) + "}:outbox" }

// plainOrHash returns a word that may be part of a key unchanged, and any other's hash.
func plainOrHash(word string) string {
	if plain(word) {
		return word
	}
	return "#" + hash(word)
}

func hash(word string) string {
	sum := sha256.Sum256([]byte(word))
	return hex.EncodeToString(sum[:16])
}

func plain(s string) bool {
	const maxLen = 64
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:", r) {
			return false
		}
	}
	return s != "" && len(s) <= maxLen
}
