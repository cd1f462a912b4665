package cli

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redrain/internal/bench"
	"redrain/internal/testenv"
	"redrain/rain"
)

// aReport is what the engine might have counted.
func aReport() *bench.Report {
	return &bench.Report{
		Mode: "open", URLs: []string{"http://a:8080", "ws://b:8080"}, Campaigns: []string{"c1"},
		Players: 1_000, Joined: 999, Away: 2, NotJoined: map[string]int{"bad token (code 4500)": 1},
		DurationMS: 10_002, RateWanted: 3_000, Taps: 30_010, Answered: 30_001, TapsPerSecond: 2_999.5,
		Outcomes: map[string]int64{"won": 20_000, "sold_out": 10_000, "too_fast": 1},
		Errors:   map[string]int64{"malformed": 2},
		Lost:     8, Unanswered: 1, NothingInAir: 5, NobodyThere: 3, Starvations: 12, StarvedPercent: 0.5,
		Latency:    bench.Latency{P50: 1_800, P90: 3_001, P99: 3_271, P999: 3_297, Max: 1_250_303, Mean: 1_841.3},
		Waves:      bench.Waves{Expected: 40_000, Received: 39_990, Late: 4, SpreadP50: 2_500, SpreadMax: 40_000},
		Reconnects: 2, Broken: 1, Closes: map[string]int64{"4008": 1, "4500": 1}, Faults: map[string]int64{},
		ProcessorMS: 320, ProcessorPerTap: 10.7,
	}
}

// aGoodReport is that of players to whom nothing happened.
func aGoodReport() *bench.Report {
	r := aReport()
	r.Joined, r.Players, r.Away, r.NotJoined, r.Errors, r.Unanswered, r.Closes = 997, 997, 0, nil, nil, 0, nil
	return r
}

func reported(t *testing.T, name string, asJSON bool, r *bench.Report, l bench.Ledger) {
	t.Helper()
	var out bytes.Buffer
	r.Judge(l)
	testenv.Must(t, showBench(&App{Stdout: &out, Location: time.UTC}, r, asJSON))
	file := "testdata/" + name
	if os.Getenv("UPDATE") != "" {
		testenv.Must(t, os.WriteFile(file, out.Bytes(), 0o600))
	}
	want, err := os.ReadFile(file)
	testenv.Must(t, err)
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestBenchReport(t *testing.T) {
	found := bench.Ledger{Checked: true, WaitedMS: 30_100,
		Told: 20_000, AmountTold: 2_000_000, Settled: 19_998, Unsettled: 1, Missing: 1, Untold: 2,
		Examples: []string{"claim c1-7, 0.88, was told to u1 and is not in the ledger"},
	}
	reported(t, "bench.golden", false, aReport(), found)
	reported(t, "bench-json.golden", true, aReport(), found)
	fine := aGoodReport()
	fine.Mode, fine.ThinkMS = "closed", 200
	reported(t, "bench-fine.golden", false, fine,
		bench.Ledger{Checked: true, WaitedMS: 43, Told: 20_000, AmountTold: 2_000_000, Settled: 20_000})
	reported(t, "bench-unchecked.golden", false, aGoodReport(),
		bench.Ledger{Reason: "no answer from http://a:8080: connection refused"})
}

// A win that is in the ledger and was never told is excused by a tap without a result, and by nothing else.
func TestBenchFindsWinsThatNobodyWasTold(t *testing.T) {
	for untold, want := range map[int]bool{8: true, 9: false} {
		r := aGoodReport() // 8 taps are lost
		r.Judge(bench.Ledger{Told: 1, Settled: 1, Untold: untold, Checked: true})
		if r.OK != want {
			t.Errorf("%d untold: %v", untold, r.Problems)
		}
	}
}

// What is left out depends on what is given, so that `redrain bench --token T` is a whole run.
func TestBenchDefaults(t *testing.T) {
	c := &benchCmd{Players: 100, Duration: 10 * time.Second}
	if p := c.plan(); p.Rate != 300 {
		t.Errorf("rate %f", p.Rate)
	}
	s, r := c.spec("n"), c.rain()
	if s.Packets != 3_150 || s.Budget != 315_000 || s.WinsPerUser != 3_150 || r.DropsPerSecond != 8 ||
		r.FallMS != 4_000 || r.DurationMS != 11_000 {
		t.Errorf("%+v %+v", s, r)
	}
	c.ClosedLoop = true
	s, r = c.spec("n"), c.rain()
	if p := c.plan(); p.Rate != 0 || s.Packets != 210_000 || r.DropsPerSecond != rain.MaxDropsPerSecond ||
		r.FallMS != 20_000 {
		t.Errorf("%+v %+v", s, r)
	}
	c = &benchCmd{Players: 2, Duration: 10 * time.Minute, TapsPerSecond: 100_000,
		benchRainFlags: benchRainFlags{Packets: 5, Budget: 50, WinsPerUser: 1, Shards: 4, DropsPerSecond: 3,
			Fall: time.Second}}
	s, r = c.spec("n"), c.rain()
	if s.Packets != 5 || s.Budget != 50 || s.WinsPerUser != 1 || s.Shards != 4 || r.DropsPerSecond != 3 ||
		r.FallMS != 1_000 || r.DurationMS != 600_000 {
		t.Errorf("%+v %+v", s, r)
	}
	for _, c := range []*benchCmd{{Players: 1, Duration: time.Millisecond},
		{Players: 15_000, Duration: 10 * time.Minute}, {Players: 1, Duration: time.Hour, ClosedLoop: true}} {
		c.Shards = 1
		s, r := c.spec("n"), c.rain()
		if err := s.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if err := r.Validate(0); c.Duration <= longestRain && c.Duration >= time.Second && err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestNodeOf(t *testing.T) {
	for address, want := range map[string]benchNode{
		"http://h:1": {"ws://h:1/ws", "http://h:1"}, "ws://h:1": {"ws://h:1/ws", "http://h:1"},
		"ws://h:1/ws": {"ws://h:1/ws", "http://h:1"},
		"https://h/":  {"wss://h/ws", "https://h"}, "wss://h/a/ws/": {"wss://h/a/ws", "https://h/a"},
		"http://h/a": {"ws://h/a/ws", "http://h/a"},
	} {
		if got, err := benchNodeOf(address); err != nil || got != want {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
}
