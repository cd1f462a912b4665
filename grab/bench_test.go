package grab_test

import (
	"strconv"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
)

// BenchmarkTap is a tap from the gate to its result on a real Redis: every tap wins a packet.
func BenchmarkTap(b *testing.B) {
	rdb := grabtest.Connect(b, testenv.Redis(b))
	for _, players := range []int{1, 100, 1000} {
		b.Run("players="+strconv.Itoa(players), func(b *testing.B) {
			grabtest.Storm(b, grabtest.New(b, rdb, grabtest.Setup{Packets: max(b.N, 1), Wins: 1_000_000,
				TapRate: 1_000_000}), players)
		})
	}
}

// BenchmarkTapAnsweredHere is a tap that costs Redis nothing.
func BenchmarkTapAnsweredHere(b *testing.B) {
	gm := grabtest.New(b, grabtest.InProcess(b), grabtest.Setup{Packets: 1})
	gm.Want("first", gm.Drop(0), outcome.Won)
	drops := make([]string, 100)
	for i := range drops {
		drops[i] = gm.Drop(i)
	}
	var got outcome.Outcome
	done := func(r outcome.Result) { got = r.Outcome }
	for _, c := range []struct {
		name, user string
		drop       func(i int) string
		want       outcome.Outcome
	}{
		{"won before", "first", func(int) string { return drops[0] }, outcome.Won},
		{"sold out", "second", func(i int) string { return drops[i%100] }, outcome.SoldOut},
		{"unknown drop", "second", func(int) string { return "2000.1" }, outcome.UnknownDrop},
		{"no drop", "second", func(int) string { return "drop" }, outcome.UnknownDrop},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				grabtest.Ask(gm.Gate, c.user, c.drop(i), done)
			}
			if got != c.want {
				b.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
