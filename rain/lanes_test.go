package rain_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

// laned is a campaign's spec with lanes, such as Validate accepts.
func laned(t *rapid.T) rain.Spec {
	s := rain.DefaultSpec()
	s.Name, s.Sponsor = "Gala", "acme"
	s.Shards = rapid.IntRange(1, rain.MaxShards).Draw(t, "shards")
	s.Packets = rapid.IntRange(1, 5_000).Draw(t, "packets")
	s.Budget = rain.Money(s.Packets)
	s.GuestsShare = rain.Share(rapid.IntRange(0, 999_999).Draw(t, "share"))
	s.Complete()
	if s.Validate() != nil {
		t.Skip("refused")
	}
	return s
}

// guest is the id of a guest.
func guest(n int) string { return fmt.Sprintf("%s%020x", rain.GuestPrefix, n) }

// Each packet is in one lane and on one shard of it. A shard is empty only if its lane has fewer packets than shards.
// Guests have their share and no packet more, and each player's home shard is of their lane. Without a share there is
// only one lane.
func TestLanesAreApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := laned(t)
		l := s.Layout()
		packet := 0
		for shard := range l.Shards {
			stock := l.Stock(shard)
			shards, packets := l.Part(l.LaneOfShard(shard))
			n := stock.Count()
			if few := packets.Count() < shards.Count(); len(stock) > 1 || len(stock) == 0 && !few || n > 1 && few {
				t.Fatalf("shard %d has %v, its lane %d packets on %d shards", shard, stock, packets.Count(),
					shards.Count())
			}
			for _, r := range stock {
				if r.First != packet || r.Count() < 1 || r.First < packets.First || r.Last > packets.Last {
					t.Fatalf("shard %d has %v, want some from %d on of %v", shard, stock, packet, packets)
				}
			}
			f, m := rain.ShardRange(s.Packets, s.Shards, shard)
			if s.GuestsShare == 0 && (m != n || m > 0 && f != packet) {
				t.Fatalf("without lanes shard %d has %v, want %d from %d on", shard, stock, m, f)
			}
			packet += n
		}
		if packet != s.Packets {
			t.Fatalf("%d packets are on shards, of %d", packet, s.Packets)
		}
		counts := l.ByLane(rain.Numbers{{First: 0, Last: s.Packets - 1}})
		if counts[rain.LaneGuests] != s.Packets*int(s.GuestsShare)/1_000_000 ||
			counts[rain.LanePlayers]+counts[rain.LaneGuests] != s.Packets {
			t.Fatalf("the lanes have %v of %d packets", counts, s.Packets)
		}
		for n := range 20 {
			for _, user := range []string{guest(n), fmt.Sprint("u", n), rain.GuestPrefix + fmt.Sprint(n)} {
				lane, home := l.Lane(user), l.Home(user)
				if want := s.GuestsShare != 0 && rain.IsGuest(user); (lane == rain.LaneGuests) != want {
					t.Fatalf("%s is in lane %d", user, lane)
				}
				if home < 0 || home >= l.Shards || l.LaneOfShard(home) != lane {
					t.Fatalf("%s, of lane %d, is at home on shard %d", user, lane, home)
				}
				if s.GuestsShare == 0 && home != rain.HomeShard(user, s.Shards) {
					t.Fatalf("without lanes %s is at home on shard %d", user, home)
				}
				for shard := range l.Shards {
					for _, r := range l.Stock(shard) {
						if l.MayHave(user, r.First) != (l.LaneOfShard(shard) == lane) {
							t.Fatalf("%s, of lane %d, and packet %d of shard %d", user, lane, r.First, shard)
						}
					}
				}
			}
		}
	})
}

func TestByLaneCountsRanges(t *testing.T) {
	t.Parallel()
	l := rain.Layout{Packets: 10, Shards: 2, GuestsShare: 300_000} // guests have 7 to 9
	for _, is := range []struct {
		numbers rain.Numbers
		want    [rain.LaneCount]int
	}{
		{nil, [rain.LaneCount]int{}},
		{rain.Numbers{{First: 2, Last: 4}, {First: 0, Last: 0}}, [rain.LaneCount]int{4, 0}},
		{rain.Numbers{{First: 6, Last: 7}, {First: 9, Last: 9}}, [rain.LaneCount]int{1, 2}},
	} {
		testenv.Equal(t, l.ByLane(is.numbers), is.want, "%v", is.numbers)
	}
}

func TestGuestsShareIsANumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0.1": "0.1", "0.25": "0.25", "1e-6": "0.000001", "0.999999": "0.999999", "null": "null",
		"0.1234567": "0.123457",
	} {
		var s rain.Spec
		testenv.Must(t, json.Unmarshal([]byte(`{"guests_share":`+text+`}`), &s))
		if got, err := json.Marshal(s.GuestsShare); string(got) != want || err != nil {
			t.Errorf("%s is written %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "1", "-0.1", "2", `"0.1"`, "true", "1e-9", "0.9999999", "{}"} {
		s := rain.DefaultSpec()
		s.Name, s.Sponsor, s.Budget, s.Packets, s.Shards = "Gala", "acme", 100, 100, 2
		testenv.Must(t, json.Unmarshal([]byte(`{"guests_share":`+text+`}`), &s))
		wantFault(t, text, s.Validate(), "guests_share")
	}
}

func TestLanesNeedShardsAndPackets(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]struct {
		packets, shards int
		share           rain.Share
		fault           string
	}{
		"one shard is made two":            {100, 1, 100_000, ""},
		"a packet for each shard":          {100, 20, 100_000, ""},
		"fewer packets than guests' ones":  {100, 22, 100_000, ""},
		"fewer packets than players' ones": {100, 22, 900_000, ""},
		"none for guests":                  {9, 2, 100_000, "guests_share"},
		"one packet":                       {1, 1, 500_000, "guests_share"},
		"none":                             {9, 1, 0, ""},
	} {
		s := rain.DefaultSpec()
		s.Name, s.Sponsor, s.Budget, s.Packets, s.Shards, s.GuestsShare =
			"Gala", "acme", rain.Money(is.packets), is.packets, is.shards, is.share
		s.Complete()
		if err := s.Validate(); is.fault == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if is.fault != "" {
			wantFault(t, name, err, is.fault)
		}
		testenv.Equal(t, (&rain.Campaign{Spec: s, Status: rain.Open}).CheckStored() != nil, is.fault != "",
			"%s, stored", name)
	}
}

// wantFault wants a fault of a field.
func wantFault(t *testing.T, name string, err error, field string) {
	t.Helper()
	faults, _ := err.(rain.Invalid) //nolint:errorlint // Validate returns it as it is
	for _, f := range faults {
		if f.Field == field {
			return
		}
	}
	t.Errorf("%s: %v, want a fault of %s", name, err, field)
}
