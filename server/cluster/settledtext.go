package cluster

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Notices of settlements are frequent: one for each player and batch. So they are lines of text, which cost a fraction
// of JSON. The first line is the campaign, each further one a claim: packet, amount, balance, drop and player. Only the
// player may have spaces, and no field has line breaks.

// noticeClaims is the approximate number of claims in a notice.
const noticeClaims = 256

// settledNotices returns the notices of settlements. A player's claims are adjacent, in one notice.
func settledNotices(campaign string, settlements []posting.Settlement) (notices []Settled) {
	byPlayer := slices.SortedStableFunc(slices.Values(settlements), func(a, b posting.Settlement) int {
		return cmp.Compare(a.User, b.User)
	})
	for i, s := range byPlayer {
		if i == 0 || len(notices[len(notices)-1].Claims) >= noticeClaims && s.User != byPlayer[i-1].User {
			notices = append(notices, Settled{Campaign: campaign})
		}
		n := &notices[len(notices)-1]
		n.Claims = append(n.Claims, SettledClaim{Claim: s.Claim, User: s.User, Packet: s.Packet, Drop: s.Drop,
			Amount: s.Amount, Balance: s.Balance})
	}
	return notices
}

// text encodes the notice.
func (n *Settled) text() []byte {
	size := len(n.Campaign)
	for i := range n.Claims {
		size += 40 + len(n.Claims[i].Drop) + len(n.Claims[i].User)
	}
	b := append(make([]byte, 0, size), n.Campaign...)
	for i := range n.Claims {
		c := &n.Claims[i]
		b = append(strconv.AppendInt(append(b, '\n'), int64(c.Packet), 10), ' ')
		b = append(strconv.AppendInt(b, int64(c.Amount), 10), ' ')
		b = append(strconv.AppendInt(b, int64(c.Balance), 10), ' ')
		b = append(append(b, c.Drop...), ' ')
		b = append(b, c.User...)
	}
	return b
}

var errSettledText = errors.New("invalid settlement notice")

// readSettled is the inverse of text. A claim's id follows from campaign and packet.
func readSettled(data []byte) (n Settled, err error) {
	campaign, lines, found := strings.Cut(string(data), "\n")
	if !found {
		return n, errSettledText
	}
	n = Settled{Campaign: campaign, Claims: make([]SettledClaim, 0, strings.Count(lines, "\n")+1)}
	for line := range strings.SplitSeq(lines, "\n") {
		var c SettledClaim
		var packet int64
		rest := line
		for _, number := range []*int64{&packet, (*int64)(&c.Amount), (*int64)(&c.Balance)} {
			digits, after, _ := strings.Cut(rest, " ")
			if *number, err = strconv.ParseInt(digits, 10, 64); err != nil {
				return Settled{}, errSettledText
			}
			rest = after
		}
		if c.Drop, c.User, found = strings.Cut(rest, " "); !found {
			return Settled{}, errSettledText
		}
		c.Packet = int(packet)
		c.Claim = rain.ClaimID(campaign, c.Packet)
		n.Claims = append(n.Claims, c)
	}
	return n, nil
}
