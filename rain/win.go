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
	Drop   string // the ticket: the drop that was tapped, "n.k", or its beat where players have draws, "b" and a number
	Seal   string // says that a gateway has taken the tap; see package seal
	// Amount is what the packet holds: 0 until somebody who knows the campaign's seed has filled it in. It never
	// travels.
	Amount Money
}

// ClaimID is the id of the claim that a won packet gives its winner. It is globally unique, because a
// campaign's id is and a packet's number is unique in its campaign. Everybody who knows both can compute
// it, so no id is handed out or stored.
func ClaimID(campaign string, packet int) string {
	return campaign + "-" + strconv.Itoa(packet)
}

// ParseClaimID is the reverse of ClaimID.
func ParseClaimID(claim string) (campaign string, packet int, err error) {
	i := strings.LastIndexByte(claim, '-')
	packet, _ = strconv.Atoi(claim[i+1:]) // what is no number does not come back as it was
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

// String is the entry's id in the stream and in the ledger, by which copies of an entry are recognized.
func (r EntryRef) String() string { return r.Campaign + "." + strconv.Itoa(r.Shard) + "." + r.ID }

// Position splits the entry's id in its time (Unix ms) and its sequence number within it. No other id has the same two.
func (r EntryRef) Position() (ms, seq int64, err error) {
	a, b, _ := strings.Cut(r.ID, "-")
	ms, ok1 := plain(a)
	seq, ok2 := plain(b)
	if !ok1 || !ok2 {
		return 0, 0, fmt.Errorf("%q is not the id of an outbox entry", r.ID)
	}
	return ms, seq, nil
}

// plain reads a number that is written without a sign and without zeros before it.
func plain(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && s[0] >= '0' && s[0] <= '9' && (s[0] != '0' || s == "0")
}

// Entry is one entry of an outbox: either the wins of one run of the grab script, or a reclaim of a closed shard. It
// travels to the ledger at least once; the ledger posts it exactly once.
type Entry struct {
	Ref      EntryRef
	SealedAt int64 // when the taps were sealed, or the order to close; Unix ms on the cluster's clock
	Wins     []Win
	Reclaim  *Reclaim
}

// Packets are the numbers of the packets that the wins got, in their order.
func (e *Entry) Packets() (numbers Numbers) {
	for i := range e.Wins {
		numbers = numbers.Add(e.Wins[i].Packet)
	}
	return numbers
}

// Reclaim is stock that was left in a shard when it closed.
type Reclaim struct {
	Numbers Numbers
	Seal    string // says that a node has ordered the closing; see package seal
	Amount  Money  // as in Win
}

// FillIn sets the amounts of everything in an entry.
func (e *Entry) FillIn(amounts *Amounts) {
	for i := range e.Wins {
		e.Wins[i].Amount = amounts.Of(e.Wins[i].Packet)
	}
	if e.Reclaim != nil {
		e.Reclaim.Amount = amounts.Sum(e.Reclaim.Numbers)
	}
}

// ErrUnreadable says that Redis has something else than any script of this program writes there, so that nothing of it
// can be read. Asked again it says the same.
var ErrUnreadable = errors.New("it is nothing that a script has written")

// ShardSnapshot is what Redis knows of one shard at one moment, but for its outbox and its wins.
type ShardSnapshot struct {
	Shard       int
	Unread      string   // why nothing of the shard could be read; then Found is false
	Found       bool     // false where Redis knows nothing of the shard (lost, or not stocked yet)
	Epoch       int64    // when the shard was last cut off from what was before, Unix ms; 0: never
	Left        int      // packets that can be won, as the state says
	Won         int      // packets won so far, as the state says
	Moves       int64    // number of the newest move from or to this shard
	Stock       Numbers  // packets that can be won
	Returned    Numbers  // packets that the shard gave back when it was closed
	Lent        []Lent   // packets on their way to other shards
	LastEntry   string   // id of the newest entry of the outbox ever, "0-0" where none was; as the state says
	NewestEntry string   // the same, as the outbox itself says; "" where it is gone, UnknownEntry where that is unknown
	Unreadable  []string // what no script of this program has written; the rest is without it
	Revision    int64    // the version of the campaign that the shard goes by
	Closed      bool     // for good, as the state says
	Altered     []string // settings that are not those of that version of the campaign
}

// UnknownEntry stands for the id of an entry that Redis cannot tell.
const UnknownEntry = "?"

// Lent is packets that have left one shard's stock for another's.
type Lent struct {
	Move    string // its id
	To      int    // the shard that gets them
	Number  int64  // of the moves of the shard that lends
	Epoch   int64  // of that shard: when it was last cut off from what was before, Unix ms
	Numbers Numbers
}

// WinRecord is a win as Redis keeps it for its player, without seal and amount.
type WinRecord struct {
	Win
	Entry  string // id of the outbox entry that it went out in
	Before string // the ticket that its player won before, "" in the first win
}

// PlayerRecord is what Redis keeps of a player beside the wins.
type PlayerRecord struct {
	User   string
	Wins   int
	Newest string // the ticket won last
}

// Records are some of what Redis has recorded of a shard's players.
type Records struct {
	Wins       []WinRecord
	Players    []PlayerRecord
	Unreadable []string // what no script of this program has written
}
