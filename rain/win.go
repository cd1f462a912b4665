package rain

import (
	"fmt"
	"strconv"
	"strings"
)

// Win is one packet that one player has won.
type Win struct {
	User   string `json:"user"`
	Packet int    `json:"packet"` // the packet's number in the split, unique in its campaign
	Amount Money  `json:"amount"`
	Drop   string `json:"drop"` // the drop that was tapped, "n.k"
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
	Campaign string `json:"campaign"`
	Shard    int    `json:"shard"`
	ID       string `json:"id"` // the stream's own id, "<ms>-<seq>"; ms is the cluster time of the grab
}

// String is the entry's id in the stream and in the ledger, by which copies of an entry are recognized.
func (r EntryRef) String() string { return r.Campaign + "." + strconv.Itoa(r.Shard) + "." + r.ID }

// Position splits the entry's id in its time (Unix ms) and its sequence number within it.
func (r EntryRef) Position() (ms, seq int64, err error) {
	a, b, _ := strings.Cut(r.ID, "-")
	ms, err1 := strconv.ParseInt(a, 10, 64)
	seq, err2 := strconv.ParseInt(b, 10, 64)
	if err1 != nil || err2 != nil || seq < 0 { // ms cannot be: the first - ends it
		return 0, 0, fmt.Errorf("%q is not the id of an outbox entry", r.ID)
	}
	return ms, seq, nil
}

// Entry is one entry of an outbox: either the wins of one run of the grab script, or the reclaim of a
// closed shard. It travels to the ledger at least once; the ledger posts it exactly once.
type Entry struct {
	Ref     EntryRef `json:"ref"`
	Wins    []Win    `json:"wins,omitempty"`
	Reclaim *Reclaim `json:"reclaim,omitempty"`
}

// Reclaim is the stock that was left in a shard when it closed.
type Reclaim struct {
	Packets int   `json:"packets"`
	Amount  Money `json:"amount"`
}

// ShardSnapshot is the state of one shard in Redis, read in one atomic step.
type ShardSnapshot struct {
	Shard     int
	Found     bool    // false where Redis knows nothing of the shard (lost, or not stocked yet)
	Packets   int     // packets left in the stock
	Left      Money   // their amount
	Won       int     // packets won so far
	AmountWon Money   // their amount
	Entries   []Entry // what waits in the outbox
	LastEntry string  // id of the newest entry ever written to the outbox, "" where none was
}
