package rain

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Win is one packet that one player has won.
type Win struct {
	User   string
	Packet int    // the packet's number in the split, unique in its campaign
	Drop   string // the ticket: the tapped drop, "n.k", or its beat if players have draws, "b" and a number
	Seal   string // proves that a gateway accepted the tap; see package seal
	// Amount is the amount of the packet: 0 until FillIn has computed it from the campaign's seed. It is never sent.
	Amount Money
}

// ClaimID returns the id of the claim for a won packet. It is globally unique, because a campaign's id is and a
// packet's number is unique in its campaign. It is computed from both, so no id is handed out or stored.
func ClaimID(campaign string, packet int) string {
	return campaign + "-" + strconv.Itoa(packet)
}

// ParseClaimID is the inverse of ClaimID.
func ParseClaimID(claim string) (campaign string, packet int, err error) {
	i := strings.LastIndexByte(claim, '-')
	packet, _ = strconv.Atoi(claim[i+1:]) // an invalid number differs when it is written again
	if i < 1 || strconv.Itoa(packet) != claim[i+1:] {
		return "", 0, fmt.Errorf("%q is not a claim id", claim)
	}
	return claim[:i], packet, nil
}

// EntryRef names one entry of one shard's outbox.
type EntryRef struct {
	Campaign string
	Shard    int
	ID       string // the stream's own id, "<ms>-<seq>"; ms is the cluster time of the grab
}

// String returns the entry's id in the stream and in the ledger; copies of an entry have the same id.
func (r EntryRef) String() string { return r.Campaign + "." + strconv.Itoa(r.Shard) + "." + r.ID }

// Position splits the entry's id into its time (Unix ms) and its sequence number within it. The pair is unique.
func (r EntryRef) Position() (ms, seq int64, err error) {
	a, b, _ := strings.Cut(r.ID, "-")
	ms, ok1 := ParseInt(a)
	seq, ok2 := ParseInt(b)
	if !ok1 || !ok2 {
		return 0, 0, fmt.Errorf("%q is not the id of an outbox entry", r.ID)
	}
	return ms, seq, nil
}

// ParseInt parses a number as the scripts write it: without a sign and without leading zeros.
func ParseInt(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && s[0] >= '0' && s[0] <= '9' && (s[0] != '0' || s == "0")
}

// Entry is one entry of an outbox: either the wins of one run of the grab script, or a reclaim of a closed shard. It
// travels to the ledger at least once; the ledger posts it exactly once.
type Entry struct {
	Ref      EntryRef
	SealedAt int64 // time of the seals of the taps, or of the order to close; Unix ms on the cluster's clock
	Epoch    int64 // of the shard when it was published, see package confirm; 0: without one
	Wins     []Win
	Reclaim  *Reclaim
}

// Packets returns the numbers of the won packets, in the order of the wins.
func (e *Entry) Packets() (numbers Numbers) {
	for i := range e.Wins {
		numbers = numbers.Add(e.Wins[i].Packet)
	}
	return numbers
}

// Reclaim is stock that was left in a shard when it closed.
type Reclaim struct {
	Numbers Numbers
	Seal    string // proves that a node ordered the closing; see package seal
	Amount  Money  // as in Win
}

// FillIn sets the amounts of all wins or of the reclaim in an entry.
func (e *Entry) FillIn(amounts *Amounts) {
	for i := range e.Wins {
		e.Wins[i].Amount = amounts.Of(e.Wins[i].Packet)
	}
	if e.Reclaim != nil {
		e.Reclaim.Amount = amounts.Sum(e.Reclaim.Numbers)
	}
}

// ErrUnreadable means that no script of this program wrote a record in Redis, so it cannot be parsed. A retry returns
// the same error.
var ErrUnreadable = errors.New("no script has written this record")

// ShardSnapshot is the state of one shard in Redis at one moment, without its outbox and its wins.
type ShardSnapshot struct {
	Shard       int
	Unread      string   // why nothing of the shard could be read; then Found is false
	Found       bool     // false if Redis has no record of the shard (lost, or not stocked yet)
	Epoch       int64    // time of the last fence of the shard, Unix ms; 0: never
	Left        int      // packets that can be won, from the state
	Won         int      // packets won so far, from the state
	Moves       int64    // number of the newest move from or to this shard
	Stock       Numbers  // packets that can be won
	Lent        []Lent   // packets in flight to other shards
	LastEntry   string   // id of the newest entry of the outbox ever, "0-0" if there was none; from the state
	NewestEntry string   // the same, from the outbox itself; "" if it is gone, UnknownEntry if that is unknown
	Unreadable  []string // records that no script of this program wrote; the other fields leave them out
	Revision    int64    // the version of the campaign that the shard uses
	Closed      bool     // final; from the state
	Altered     []string // settings that differ from that version of the campaign
}

// UnknownEntry stands for the id of an entry that Redis does not have.
const UnknownEntry = "?"

// Lent holds packets that have left one shard's stock for another's.
type Lent struct {
	Move    string // its id
	To      int    // the shard that receives them
	Number  int64  // of the moves of the shard that lends
	Epoch   int64  // of that shard: time of its last fence, Unix ms
	Numbers Numbers
}

// WinRecord is a win as Redis stores it for its player, without seal and amount.
type WinRecord struct {
	Win
	Entry  string // id of the win's outbox entry
	Before string // the ticket of the player's win before, "" in the first win
}

// PlayerRecord is the state of a player in Redis, without the wins.
type PlayerRecord struct {
	User   string
	Wins   int
	Newest string // the ticket won last
}

// Records is a part of a shard's player records in Redis.
type Records struct {
	Wins       []WinRecord
	Unreadable []string // records that no script of this program wrote
}
