package rain

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Share is a part of all packets, in millionths. The zero value is none: it is left out.
type Share int64

const (
	shareOne     Share = 1_000_000
	shareInvalid Share = -1
	shareRule          = "is a number above 0 and below 1, in millionths; left out, guests and players share the stock"
)

// parseShare reads a share as an operator writes it: 0.1.
func parseShare(text string) Share {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f > 0 && f < 1) {
		return shareInvalid
	}
	if s := Share(math.Round(f * float64(shareOne))); s > 0 && s < shareOne {
		return s
	}
	return shareInvalid
}

// String returns the share as an operator writes it: 0.1; "" for none.
func (s Share) String() string {
	switch {
	case s == 0:
		return ""
	case s < 0 || s >= shareOne:
		return "invalid"
	}
	return "0." + strings.TrimRight(fmt.Sprintf("%06d", int64(s)), "0")
}

// MarshalJSON writes a number, or null for none.
func (s Share) MarshalJSON() ([]byte, error) {
	switch {
	case s == 0:
		return []byte("null"), nil
	case s < 0 || s >= shareOne:
		return []byte(`"invalid"`), nil
	}
	return []byte(s.String()), nil
}

// UnmarshalJSON reads a number, or null. Spec.Validate refuses an invalid share, among the other faults.
func (s *Share) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return nil // as if it were left out
	}
	*s = parseShare(string(text))
	return nil
}

// UnmarshalText reads the value of a flag.
func (s *Share) UnmarshalText(text []byte) error {
	if *s = parseShare(string(text)); *s == shareInvalid {
		return fmt.Errorf("%s", shareRule)
	}
	return nil
}

// Lane is a partition of a campaign's packets and shards for some of its players: they win its packets and no others.
// A campaign with a GuestsShare has two. Any other campaign has one for all players.
type Lane int

// The lanes.
const (
	LanePlayers Lane = iota // players with a signed token; without a GuestsShare, all players
	LaneGuests
	LaneCount int = iota
)

// Layout describes where a campaign's packets and players are. It follows from the campaign's settings, and never
// changes. A lane has its own packets and shards; the guests' are the last ones. So every mechanism that keeps shards
// apart also keeps lanes apart.
type Layout struct {
	Packets     int
	Shards      int
	GuestsShare Share
}

// Layout returns the campaign's layout.
func (s *Spec) Layout() Layout {
	return Layout{Packets: s.Packets, Shards: max(s.Shards, 1), GuestsShare: s.GuestsShare}
}

// Lanes returns the lanes in the order of their numbers.
func (l Layout) Lanes() int {
	if l.GuestsShare == 0 {
		return 1
	}
	return LaneCount
}

// Part returns the shards and the packets of a lane. The guests' packets are the GuestsShare of all, rounded down.
// The number of taps does not follow from the number of packets, so each lane has half of the shards. The players
// have the odd one.
func (l Layout) Part(lane Lane) (shards, packets Range) {
	if l.GuestsShare == 0 {
		return Range{0, l.Shards - 1}, Range{0, l.Packets - 1}
	}
	ofShards := l.Shards - l.Shards/2
	ofPackets := l.Packets - int(int64(l.Packets)*int64(l.GuestsShare)/int64(shareOne))
	if lane == LaneGuests {
		return Range{ofShards, l.Shards - 1}, Range{ofPackets, l.Packets - 1}
	}
	return Range{0, ofShards - 1}, Range{0, ofPackets - 1}
}

// Lane returns the lane of a player.
func (l Layout) Lane(user string) Lane {
	if l.GuestsShare != 0 && IsGuest(user) {
		return LaneGuests
	}
	return LanePlayers
}

// LaneOfShard returns the lane of a shard.
func (l Layout) LaneOfShard(shard int) Lane {
	if shards, _ := l.Part(LanePlayers); shard > shards.Last {
		return LaneGuests
	}
	return LanePlayers
}

// MayHave reports whether a player can win a packet.
func (l Layout) MayHave(user string, packet int) bool {
	_, packets := l.Part(l.Lane(user))
	return packet >= packets.First && packet <= packets.Last
}

// Home returns the shard on which a player takes part.
func (l Layout) Home(user string) int {
	shards, _ := l.Part(l.Lane(user))
	return shards.First + HomeShard(user, shards.Count())
}

// Stock returns the part of the split that a shard is stocked with: one range, or none if the lane has fewer packets
// than shards. Packets then have to move to such a shard before its players can win. The parts of a lane differ by at
// most one packet.
func (l Layout) Stock(shard int) Numbers {
	shards, packets := l.Part(l.LaneOfShard(shard))
	first, n := ShardRange(packets.Count(), shards.Count(), shard-shards.First)
	if n == 0 {
		return nil
	}
	first += packets.First
	return Numbers{{First: first, Last: first + n - 1}}
}

// ByLane counts the packets of each lane.
func (l Layout) ByLane(numbers Numbers) (counts [LaneCount]int) {
	for lane := range counts[:l.Lanes()] {
		_, part := l.Part(Lane(lane))
		for _, r := range numbers {
			counts[lane] += max(0, min(r.Last, part.Last)-max(r.First, part.First)+1)
		}
	}
	return counts
}

// validateLanes checks that each lane has a shard and a packet.
func (s *Spec) validateLanes(e *Invalid) {
	if s.GuestsShare == 0 || s.Packets < 1 || s.Packets > MaxPackets {
		return
	}
	if s.GuestsShare < 0 || s.GuestsShare >= shareOne {
		e.add("guests_share", shareRule)
		return
	}
	if s.Shards < LaneCount {
		e.add("shards", "is at least %d with guests_share: guests and players have shards of their own", LaneCount)
		return
	}
	for lane := range LaneCount {
		if _, packets := s.Layout().Part(Lane(lane)); packets.Count() < 1 {
			e.add("guests_share", "leaves no packet for one of the lanes: take more packets or another share")
			return
		}
	}
}

// Complete raises the number of shards to the least number that the lanes need.
func (s *Spec) Complete() {
	if s.GuestsShare != 0 && s.Shards == 1 {
		s.Shards = LaneCount
	}
}
