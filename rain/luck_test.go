package rain_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestGoldenLuck: computed as well by a program in another language, from the words of Luck's comment. It may never
// change: draws are checked from their seeds, also those of years ago.
func TestGoldenLuck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		user string
		beat int64
		want uint64
	}{
		{"u1", 0, 0x8fb0d15ba69b7d1}, {"u1", 1, 0x56455874fd8c35c4}, {"u1", 239, 0x6108600d600f0f9f},
		{"guest-00112233445566778899", 7, 0x9bb49bfed81cf9c9}, {"张三", 3, 0xc66a3ebc0303d347},
	} {
		testenv.Equal(t, rain.Luck(goldenSeed(), tc.user, tc.beat), tc.want, "%s in beat %d", tc.user, tc.beat)
	}
	for odds, threshold := range map[rain.Odds]uint64{
		1: 0x44b82fa09, 250_000_000: 0x4000000000000000, 333_333_333: 0x55555553e6d45752,
		999_999_999: 0xfffffffbb47d05f6,
	} {
		if !rain.Below(odds, threshold-1) || rain.Below(odds, threshold) {
			t.Errorf("odds %s do not end at %#x", odds, threshold)
		}
	}
	if !rain.Below(rain.OddsOne, 1<<64-1) || rain.Below(rain.OddsCertain, 0) || rain.Below(rain.OddsAuto, 0) {
		t.Error("the odds 1 must let all players win, and invalid odds none")
	}
}

func TestOddsAsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rain.Odds{
		`1`: rain.OddsCertain, `1.0`: rain.OddsCertain, `"auto"`: rain.OddsAuto, `0.25`: 250_000_000,
		`0.000000001`: 1, `1e-9`: 1, `0.9999999999999`: 999_999_999, `0.1`: 100_000_000, `null`: rain.OddsCertain,
	} {
		var spec rain.RainSpec
		if err := json.Unmarshal([]byte(`{"odds":`+text+`}`), &spec); err != nil || spec.Odds != want {
			t.Errorf("%s: %d (%v), want %d", text, spec.Odds, err, want)
		}
		back, err := json.Marshal(spec.Odds)
		var again rain.Odds
		if err != nil || json.Unmarshal(back, &again) != nil || again != want {
			t.Errorf("%s is written %s (%v)", text, back, err)
		}
	}
	for _, text := range []string{`0`, `-0.5`, `1.5`, `1e-10`, `"0.5"`, `"1"`, `"Auto"`, `""`, `"auto`, `true`, `[]`} {
		spec := rain.DefaultRain()
		if json.Unmarshal([]byte(`{"odds":`+text+`}`), &spec) == nil && spec.Validate(0) == nil {
			t.Errorf("%s are odds: %s", text, spec.Odds)
		}
	}
}

func TestTickets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"7.3", "b0", "b41", "0.0"} {
		if got, ok := rain.ParseTicket(text); !ok || got.String() != text || got.IsBeat() != (text[0] == 'b') {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "b", "b01", "b-1", "b1.0", "B1", "bb1", "b1 ", "7", "b9999999999999999"} {
		if got, ok := rain.ParseTicket(text); ok {
			t.Errorf("%q is the ticket %v", text, got)
		}
	}
}

// TestEachWaveIsInOneBeat: a beat's ticket names its first wave, whatever the length of the beats.
func TestEachWaveIsInOneBeat(t *testing.T) {
	t.Parallel()
	for _, ms := range []int64{250, 251, 300, 999, 1_000, 1_001, 2_500, 10_000} {
		r := drawing(ms, rain.OddsOne/4)
		tickets := map[string]int64{}
		for n := r.FirstWave; r.Has(n); n++ {
			beat, ticket := r.Beat(n), r.TicketOf(rain.DropID{N: n})
			if at := r.WaveAt(n); at < r.BeatAt(beat) || at >= r.BeatAt(beat+1) || !ticket.IsBeat() {
				t.Fatalf("beats of %d ms: wave %d is in beat %d, ticket %s", ms, n, beat, ticket)
			}
			if before, known := tickets[ticket.String()]; known && before != beat || !known && ticket.N != n {
				t.Fatalf("beats of %d ms: wave %d of beat %d has the ticket %s", ms, n, beat, ticket)
			}
			tickets[ticket.String()] = beat
		}
		if int64(len(tickets)) != r.Beats() {
			t.Errorf("beats of %d ms: %d tickets, %d beats", ms, len(tickets), r.Beats())
		}
	}
	testenv.Equal(t, drawing(1_000, rain.OddsCertain).TicketOf(rain.DropID{N: 41, K: 2}).String(), "41.2",
		"without draws a drop is its own ticket")
}

// drawing is a rain of 20 seconds whose first wave is 40.
func drawing(beatMS int64, odds rain.Odds) *rain.Rain {
	r := testRain()
	r.DurationMS, r.BeatMS, r.Odds = 20_000, beatMS, odds
	return &r
}

// TestOnlyTheLuckyArePaid: a win that the seed did not grant is refused. So is a win with a drop if the rain has draws,
// and a win with a beat if it has none. A win of a beat that had no packets in the air is refused, too.
func TestOnlyTheLuckyArePaid(t *testing.T) {
	t.Parallel()
	r := drawing(1_000, rain.OddsOne/4)
	plain := *drawing(1_000, rain.OddsCertain)
	plain.FirstWave, plain.StartsAt = 1_000, r.StartsAt
	c := &rain.Campaign{Rains: []rain.Rain{*r, plain}}
	lucky := 0
	for beat := range r.Beats() {
		for i := range 100 {
			user, ticket := "u"+strconv.Itoa(i), r.TicketOf(rain.DropID{N: r.FirstWave + beat*4}).String()
			want := rain.Luck(r.Seed, user, beat) < 1<<62
			if want {
				lucky++
			}
			if err := c.CheckTicket(user, ticket, r.BeatAt(beat)+100); (err == nil) != want {
				t.Fatalf("%s in beat %d: %v", user, beat, err)
			}
			if (c.CheckLuck(user, ticket) == nil) != want || r.LuckyIn(user, beat) != want {
				t.Fatalf("%s in beat %d: the proof says otherwise", user, beat)
			}
			if early, late := r.BeatAt(beat)-10_001, r.BeatAt(beat)+1_000+r.FallMS+10_500; c.CheckTicket(user, ticket,
				early) == nil || c.CheckTicket(user, ticket, late) == nil {
				t.Fatalf("%s: beat %d counts before it begins or after it has landed", user, beat)
			}
		}
	}
	if lucky < 400 || lucky > 600 {
		t.Errorf("%d of 2,000 draws are lucky at odds of a quarter", lucky)
	}
	id, _ := find(t, r, r.FirstWave, rain.Packet)
	free, _ := find(t, &plain, plain.FirstWave, rain.Packet)
	for _, ticket := range []string{id.String(), "b41", "b39", "b9999", "b1000"} {
		if c.CheckTicket("u1", ticket, r.StartsAt+100) == nil {
			t.Errorf("%s has won", ticket)
		}
	}
	if c.CheckLuck("u1", id.String()) == nil || c.CheckLuck("u1", "b1000") == nil {
		t.Error("the proof lets a drop win where players have draws, or a beat where they have none")
	}
	if err := c.CheckTicket("u1", free.String(), plain.WaveAt(free.N)+100); err != nil ||
		c.CheckLuck("u1", free.String()) != nil {
		t.Errorf("a drop of a rain without draws: %v", err)
	}
}

// TestOddsAreSetAhead: no odds change once their beat has begun, nor for beats that have odds.
func TestOddsAreSetAhead(t *testing.T) {
	t.Parallel()
	r := drawing(1_000, rain.OddsAuto)
	start := r.StartsAt
	for _, step := range []struct {
		beat int64
		odds rain.Odds
		at   int64
		good bool
	}{
		{0, 500, start - 1_999, false}, {0, 500, start - 2_000, true}, {0, 600, start - 5_000, false},
		{3, 0, start, false}, {3, rain.OddsOne + 1, start, false}, {20, 500, start, false}, {-1, 500, 0, false},
		{3, rain.OddsOne, start + 1_000, true}, {2, 7, start - 9_000, false}, {19, 8, start + 17_001, false},
		{19, 8, start + 17_000, true},
	} {
		if err := r.SetOdds(rain.OddsFrom{Beat: step.beat, Odds: step.odds}, step.at); (err == nil) != step.good {
			t.Errorf("%+v: %v", step, err)
		}
	}
	testenv.Equal(t, r.OddsRecord, "0:500 3:1000000000 19:8", "the record is")
	for beat, want := range map[int64]rain.Odds{0: 500, 2: 500, 3: rain.OddsOne, 18: rain.OddsOne, 19: 8} {
		for _, lane := range []rain.Lane{rain.LanePlayers, rain.LaneGuests} {
			testenv.Equal(t, r.OddsOf(beat, lane), want, "beat %d has", beat)
		}
	}
	list, _ := r.OddsRecord.List()
	text, err := json.Marshal(list)
	var back []rain.OddsFrom
	again, ok := rain.OddsRecordOf(back, nil)
	if err != nil || json.Unmarshal(text, &back) != nil || !ok || again != "" {
		t.Errorf("%s: %v", text, err)
	}
	if again, ok := rain.OddsRecordOf(back, nil); !ok || again != r.OddsRecord {
		t.Errorf("the record comes back as %q from %s", again, text)
	}
	if fixed := drawing(1_000, 5); fixed.SetOdds(rain.OddsFrom{Beat: 5, Odds: 7}, 0) == nil {
		t.Error("fixed odds change")
	}
	testenv.Equal(t, drawing(1_000, rain.OddsAuto).OddsFor("u", 5), rain.OddsStart, "before any are set they are")
	for _, bad := range []rain.OddsRecord{"x", "0", "0:0", "1:5 1:6", "2:5 1:6", "0:1000000001", " 0:5", "0:5 ",
		"-1:5", "0:5:0", "0:5:", "0:5:1000000001", "0:5:6:7", "0:5:-1"} {
		if list, ok := bad.List(); ok {
			t.Errorf("%q is the record %v", bad, list)
		}
	}
}

// TestALateNodeIsPaid: a win by earlier odds is paid if they ended less than ten seconds before the beat. Later ones
// are refused.
func TestALateNodeIsPaid(t *testing.T) {
	t.Parallel()
	r := drawing(1_000, rain.OddsAuto)
	r.DurationMS, r.OddsRecord = 60_000, "0:900000000 5:1 30:500000000"
	c := &rain.Campaign{Rains: []rain.Rain{*r}}
	users := 0
	for i := range 1_000 {
		user := "u" + strconv.Itoa(i)
		luckyThen := rain.Below(900_000_000, rain.Luck(r.Seed, user, 14))
		paidSoon := c.CheckTicket(user, r.TicketOf(rain.DropID{N: r.FirstWave + 14*4}).String(), r.BeatAt(14)+1) == nil
		paidLater := c.CheckTicket(user, r.TicketOf(rain.DropID{N: r.FirstWave + 15*4}).String(), r.BeatAt(15)+1) == nil
		if luckyThen != paidSoon || paidLater {
			t.Fatalf("%s: lucky by the odds before %t, paid %t, paid ten seconds after %t", user, luckyThen, paidSoon,
				paidLater)
		}
		if luckyThen {
			users++
		}
	}
	if users < 800 {
		t.Errorf("%d of 1,000: this tests little", users)
	}
	late := r.TicketOf(rain.DropID{N: r.FirstWave + 20*4}).String()
	c.Rains[0].OddsRecord = "0:900000000 5:1"
	testenv.WantErr(t, c.CheckLuck("u1", late), nil, "the proof judges a beat whose odds it may not have read yet")
	if c.Status = rain.Closed; c.CheckLuck("u1", late) == nil {
		t.Error("the proof says nothing of a beat whose odds are all known")
	}
}

// TestOddsOfLanes: guests draw by odds of their own if these are set, and players by theirs. A node may have missed
// newer odds. The record comes back from its two lists, as long as these are of one record.
func TestOddsOfLanes(t *testing.T) {
	t.Parallel()
	r := drawing(1_000, rain.OddsAuto)
	guest, player := "guest-00112233445566778899", "u1"
	for _, set := range []rain.OddsFrom{{Beat: 0, Odds: rain.OddsOne, Guests: 1}, {Beat: 15, Odds: 1,
		Guests: rain.OddsOne}} {
		testenv.Must(t, r.SetOdds(set, r.StartsAt-rain.OddsLeadMS))
	}
	testenv.Equal(t, r.OddsRecord, rain.OddsRecord("0:1000000000:1 15:1:1000000000"), "the record is")
	if r.SetOdds(rain.OddsFrom{Beat: 19, Odds: 1, Guests: rain.OddsOne + 1}, 0) == nil {
		t.Error("guests have odds above 1")
	}
	c := rain.Campaign{Status: rain.Closed, Rains: []rain.Rain{*r}}
	paid := func(user string, beat int64) bool {
		return c.CheckLuck(user, r.TicketOf(rain.DropID{N: r.FirstWave + beat*4}).String()) == nil
	}
	for beat := range r.Beats() {
		early := beat < 15
		if r.LuckyIn(player, beat) != early || r.LuckyIn(guest, beat) == early {
			t.Errorf("beat %d: a player has %s and a guest %s", beat, r.OddsFor(player, beat), r.OddsFor(guest, beat))
		}
		// In the first ten seconds a node may have received no odds.
		if !paid(player, beat) || beat >= 10 && paid(guest, beat) == early {
			t.Errorf("beat %d: a player is paid: %v, a guest: %v", beat, paid(player, beat), paid(guest, beat))
		}
	}
	players, guests := r.OddsRecord.Lists()
	if again, ok := rain.OddsRecordOf(players, guests); !ok || again != r.OddsRecord {
		t.Errorf("it comes back as %q", again)
	}
	if _, ok := rain.OddsRecordOf(players, guests[:1]); ok {
		t.Error("a record with fewer odds of guests")
	}
	guests[1].Beat++
	if _, ok := rain.OddsRecordOf(players, guests); ok {
		t.Error("a record whose lanes have other beats")
	}
}
