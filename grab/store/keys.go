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
//	rr:{<campaign>.<shard>}:stock      list of what is left: "<amount>", or "<packet>:<amount>" if some are missing
//	rr:{<campaign>.<shard>}:wins       hash: user → wins; user \n b → their b-th block of older wins; see grab.lua
//	rr:{<campaign>.<shard>}:taps       hash: user → taps counted, and the last ones' drops; only with taps_per_user
//	rr:{<campaign>.<shard>}:outbox     stream of what has to be paid; read by the consumer group "relay"
//	rr:{<campaign>.<shard>}:confirmed  string, expires: a write for replicas to acknowledge with all before it
//	rr:{<campaign>.<shard>}:top        sorted set: the players who have won most → all that they have won
//	rr:{<campaign>.<shard>}:once:<id>  string, expires: something has been done
//	rr:{<campaign>.0}:nodes            hash: what each node has counted; "n:<node>" → JSON, "r:<node>" → its revision
//	rr:{allow.<name>.<key>}:bucket     hash, expires: a token bucket that all nodes share
//	rr:{clock}                         never written: the master of its slot is the one that is asked for the time

// defaultNamespace begins every key unless Options.Namespace says otherwise.
const defaultNamespace = "rr"

// The fields of a shard's state. Amounts are minor units, times Unix milliseconds.
const (
	fieldRevision  = "rev"        // of the campaign; absent while the shard is loading
	fieldStatus    = "status"     // loading, open, paused, closed; rebuilding
	fieldFirst     = "first"      // number of the shard's first packet
	fieldTotal     = "total"      // packets that the shard was stocked with
	fieldLeft      = "left"       // amount of the stock
	fieldWon       = "won"        // packets won
	fieldAmountWon = "amount_won" // their amount
	fieldLast      = "last"       // id of the newest outbox entry ever, "" where none was
	// The limit is over all rains. Where there are blocks, see grab.lua, " in blocks" follows the number.
	fieldWinsPerUser = "wins_per_user"
	fieldTapsPerUser = "taps_per_user" // over all rains; 0: no limit
	fieldRain        = "rain"          // id of the rain in which taps may count, "" without one
	fieldOpens       = "opens"         // when it starts
	fieldCloses      = "closes"        // from when on no tap of it counts
	fieldPaced       = "paced"         // 1: the stock is released in proportion to the time, 0: at once
	fieldDuration    = "duration_ms"   // of the rain
	// Also the scripts' own: "base_rain" and "base", the rain for which the pacing was begun, and the stock at that
	// moment; "restorer" and "chunk", whose restoration it is or was, and the last chunk of it that came.
)

// rebuilding is the status of a shard that is being restored. For everybody but the restorer such a shard does not
// exist.
const rebuilding = "rebuilding"

// group is the consumer group of every outbox.
const group = "relay"

// clockKey is never written. All nodes ask the master of its slot for the time, and so the same one.
const clockKey = defaultNamespace + ":{clock}"

// keys names keys within a namespace.
type keys struct{ namespace string }

// Keys are the keys of one shard.
type Keys struct{ State, Stock, Wins, Taps, Outbox, Confirmed, Top string }

func (k keys) shard(campaign string, shard int) Keys {
	p := k.tag(campaign, shard)
	return Keys{
		State: p + "state", Stock: p + "stock", Wins: p + "wins", Taps: p + "taps", Outbox: p + "outbox",
		Confirmed: p + "confirmed", Top: p + "top",
	}
}

func (k keys) tag(campaign string, shard int) string {
	return k.namespace + ":{" + campaign + "." + strconv.Itoa(shard) + "}:"
}

func (k keys) once(campaign string, shard int, id string) string {
	return k.tag(campaign, shard) + "once:" + id
}

func (k keys) nodes(campaign string) string { return k.tag(campaign, 0) + "nodes" }

// The fields of the hash of the nodes' reports.
func nodeField(node string) string         { return "n:" + node }
func nodeRevisionField(node string) string { return "r:" + node }

func nodeOfField(field string) (node string, ok bool) { return strings.CutPrefix(field, "n:") }

// bucket is the key of a token bucket. What it is for comes from outside (an address), so anything but plain
// characters, braces above all, is replaced by its hash.
func (k keys) bucket(name, key string) string {
	if !plain(key) {
		sum := sha256.Sum256([]byte(key))
		key = "#" + hex.EncodeToString(sum[:16])
	}
	return k.namespace + ":{allow." + name + "." + key + "}:bucket"
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
