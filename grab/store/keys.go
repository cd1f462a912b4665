package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// This file alone names keys. Everything of one shard carries one hash tag, {<campaign>.<shard>}, and so lies on
// one slot of a Redis Cluster. The namespace ("rr" unless set) keeps several installations on one Redis apart.
//
//	rr:{<campaign>.<shard>}:state      hash; its fields are below
//	rr:{<campaign>.<shard>}:stock      list of what is left: ranges "<first>-<last>" of packets, and a "." at its end
//	rr:{<campaign>.<shard>}:wins       hash: the players' wins; see grab.lua
//	rr:{<campaign>.<shard>}:taps       hash: the players' taps; only with taps_per_user
//	rr:{<campaign>.<shard>}:outbox     stream of what has to be paid
//	rr:{<campaign>.<shard>}:lent       hash: stock on its way to other shards; see lend.lua
//	rr:{<campaign>.<shard>}:borrowed   hash: moves that have brought stock; see borrow.lua
//	rr:{<campaign>.<shard>}:confirmed  string, expires: a write for replicas to acknowledge with all before it
//	rr:{<campaign>.<shard>}:top        sorted set: the players who have won most → all that they have won
//	rr:{<campaign>.0}:nodes            hash: what each node has counted; "n:<node>" → JSON, "r:<node>" → its revision
//	rr:{<campaign>.0}:teller           string, expires: the node that adds up the figures for all
//	rr:{allow.<name>.<key>}:bucket     hash, expires: a token bucket that all nodes share
//	rr:{login.<name>}:pass             string, expires: what a login code is exchanged for, sealed
//	rr:{player.<id>}:connections       hash, expires: "<node>.<number>" → since when, Unix ms
//	rr:{player.<id>}:name              string, expires: how the player wants to be shown, JSON; see names.go
//	rr:{player.<id>}:hands             hash, expires: node → how the player has tapped there; see common.go
//	rr:{common.<kind>.<hash>}:players  sorted set, expires: the players who have that in common → since when, Unix ms
//	rr:{connections}:nodes             sorted set, expires: the nodes with players → when they last reported
//	rr:{<campaign>.room}:seats         sorted set: who may be in the room → until when, Unix ms
//	rr:{<campaign>.room}:queue         sorted set: who waits → their number in the order in which they came
//	rr:{<campaign>.room}:asked         sorted set: who waits → until when their place is kept, Unix ms
//	rr:{<campaign>.room}:nodes         hash: who has a seat → the node where they are
//	rr:{<campaign>.room}:door          hash: the newest number, and who was let in lately; see admit.lua
//	rr:{<campaign>.room}:allotted      hash, expires: what an address's guests have won, or may yet; see allot.lua
//	rr:{<campaign>.room}:guests.<address>  sorted set, expires: an address's guests who are there → until when
//	rr:{clock}                         never written: the master of its slot is the one that is asked for the time
//
// The first seven are there from a shard's opening on, if only with an empty field: a Cluster refuses a command on
// several keys, of which some do not exist, while their slot is on its way to another node.

// defaultNamespace begins every key unless Options.Namespace says otherwise.
const defaultNamespace = "rr"

// The fields of a shard's state. Times are Unix milliseconds.
const (
	fieldRevision    = "rev"           // of the campaign; absent where the shard is lost
	fieldStatus      = "status"        // open, paused, closed; rebuilding
	fieldLeft        = "left"          // packets in the stock
	fieldWon         = "won"           // packets won
	fieldLast        = "last"          // id of the newest outbox entry ever, also where it is gone
	fieldMoves       = "moves"         // moves of stock from and to this shard
	fieldEpoch       = "epoch"         // when the shard was last cut off from what was before, Unix ms
	fieldWinsPerUser = "wins_per_user" // over all rains
	fieldTapsPerUser = "taps_per_user" // over all rains; 0: no limit
	fieldFirstWave   = "first_wave"    // of the rain in which taps may count, "" without one
	fieldOpens       = "opens"         // when it starts
	fieldCloses      = "closes"        // from when on no tap of it counts
	fieldPaced       = "paced"         // 1: the stock is released in proportion to the time, 0: at once
	fieldDuration    = "duration_ms"   // of the rain
	fieldBeat        = "beat_ms"       // of a rain in which players have draws, 0 of others
	// Also the scripts' own: "base_wave" and "base", the rain for which the pacing was begun, and the stock at that
	// moment; "restorer" and "chunk", whose restoration it is or was, and the last chunk of it that came.
)

// nothingYet is the id of an entry before all others.
const nothingYet = "0-0"

// rebuilding is the status of a shard that is being restored. For everybody but the restorer such a shard does not
// exist.
const rebuilding = "rebuilding"

// clockKey is never written. All nodes ask the master of its slot for the time, and so the same one.
const clockKey = defaultNamespace + ":{clock}"

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

// opening are the keys that a shard has from its opening on.
func (k Keys) opening() []string {
	return []string{k.State, k.Stock, k.Wins, k.Taps, k.Outbox, k.Lent, k.Borrowed}
}

// grabbing are the keys of a tap.
func (k Keys) grabbing() []string { return []string{k.State, k.Stock, k.Wins, k.Taps, k.Outbox} }

func (k keys) tag(campaign string, shard int) string {
	return k.namespace + ":{" + campaign + "." + strconv.Itoa(shard) + "}:"
}

func (k keys) nodes(campaign string) string { return k.tag(campaign, 0) + "nodes" }

func (k keys) upNodes() string { return k.namespace + ":{connections}:nodes" }

// connections is the key of a player's connections.
func (k keys) connections(user string) string {
	return k.namespace + ":{player." + plainOrHash(user) + "}:connections"
}

// name is the key of how a player wants to be shown.
func (k keys) name(user string) string {
	return k.namespace + ":{player." + plainOrHash(user) + "}:name"
}

// hands is the key of how a player taps on several nodes.
func (k keys) hands(user string) string {
	return k.namespace + ":{player." + plainOrHash(user) + "}:hands"
}

// common is the key of the players who have something in common. What that is stays out of Redis.
func (k keys) common(kind, value string) string {
	return k.namespace + ":{common." + kind + "." + hash(value) + "}:players"
}

func (k keys) teller(campaign string) string { return k.tag(campaign, 0) + "teller" }

// roomKeys are the keys of a campaign's room, which has a slot of its own: who comes and waits costs no shard anything.
type roomKeys struct{ seats, queue, asked, nodes, door, allotted string }

func (k keys) room(campaign string) roomKeys {
	p := k.namespace + ":{" + campaign + ".room}:"
	return roomKeys{
		seats: p + "seats", queue: p + "queue", asked: p + "asked", nodes: p + "nodes", door: p + "door",
		allotted: p + "allotted",
	}
}

// guests is the key of the guests of one address in a campaign's room.
func (k keys) guests(campaign, address string) string {
	return k.namespace + ":{" + campaign + ".room}:guests." + plainOrHash(address)
}

// The fields of the hash of the nodes' reports.
func nodeField(node string) string         { return "n:" + node }
func nodeRevisionField(node string) string { return "r:" + node }

func nodeOfField(field string) (node string, ok bool) { return strings.CutPrefix(field, "n:") }

// bucket is the key of a token bucket. What it is for comes from outside (an address), so anything but plain
// characters, braces above all, is replaced by its hash.
func (k keys) bucket(name, key string) string {
	return k.namespace + ":{allow." + name + "." + plainOrHash(key) + "}:bucket"
}

// login is the key of what a login code is exchanged for.
func (k keys) login(name string) string {
	return k.namespace + ":{login." + plainOrHash(name) + "}:pass"
}

// plainOrHash is a word as it is if it may be part of a key, or its hash.
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
