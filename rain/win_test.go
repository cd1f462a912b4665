package rain_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

func TestClaimIDRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		campaign := rapid.StringMatching(`[a-z0-9-]{1,30}`).Draw(t, "campaign")
		packet := rapid.OneOf(rapid.IntRange(0, rain.MaxPackets-1), rapid.IntRange(0, math.MaxInt)).Draw(t, "packet")
		c, p, err := rain.ParseClaimID(rain.ClaimID(campaign, packet))
		if err != nil || c != campaign || p != packet {
			t.Fatalf("%s, %d came back as %s, %d (%v)", campaign, packet, c, p, err)
		}
	})
}

func TestParseClaimIDRefusesWhatNoClaimIsCalled(t *testing.T) {
	t.Parallel()
	for _, claim := range []string{
		"", "-", "c", "c-", "-1", "c-01", "c-+1", "c- 1", "c-1 ", "c-1.0", "c-0x1", "c-a", "c-9223372036854775808",
		"c-1\n",
	} {
		if c, p, err := rain.ParseClaimID(claim); err == nil || c != "" || p != 0 {
			t.Errorf("%q was read as %q, %d", claim, c, p)
		}
	}
}

func TestEntryRef(t *testing.T) {
	t.Parallel()
	ref := rain.EntryRef{Campaign: "c1", Shard: 12, ID: "1763712000000-7"}
	testenv.Equal(t, ref.String(), "c1.12.1763712000000-7", "it is called")
	if ms, seq, err := ref.Position(); err != nil || ms != 1_763_712_000_000 || seq != 7 {
		t.Errorf("its position is %d, %d (%v)", ms, seq, err)
	}
	if ms, seq, err := (rain.EntryRef{ID: "0-0"}).Position(); err != nil || ms != 0 || seq != 0 {
		t.Errorf("the first position is %d, %d (%v)", ms, seq, err)
	}
	for _, id := range []string{"", "-", "1", "1-", "-1", "1-2-3", "a-1", "1-a", "-1-1", "1--1",
		"9223372036854775808-0", "+1-1", "1-+1", "01-1", "1-00"} {
		if ms, seq, err := (rain.EntryRef{ID: id}).Position(); err == nil || ms != 0 || seq != 0 {
			t.Errorf("%q has the position %d, %d", id, ms, seq)
		}
	}
}
