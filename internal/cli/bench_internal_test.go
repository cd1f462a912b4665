package cli

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"redrain/internal/bench"
	"redrain/rain"
)

// aReport is what the engine might have counted.
func aReport() *bench.Report {
	h := hdrhistogram.New(1, 3_600_000_000, 3)
	for n := range int64(30_000) {
		_ = h.RecordValue(300 + n/10)
	}
	_ = h.RecordValue(1_250_000)
	return &bench.Report{
		Players: 1_000, Joined: 999, Failed: map[string]int{"bad token (code 4500)": 1},
		Took: 10*time.Second + 2*time.Millisecond, Processor: 320 * time.Millisecond,
		Taps: 30_010, Answered: 30_001, InTime: 30_001, Outcomes: map[string]int64{"won": 20_000, "sold_out": 10_000,
			"too_fast": 1}, Errors: map[string]int64{"malformed": 2},
		Lost: 8, Unanswered: 1, Latency: h, NothingDue: 5, NobodyThere: 3, Starvations: 12, Starved: 50 * time.Second,
		Frames: 90_000, Waves: 40_000, WavesExpected: 40_000, WavesReceived: 39_990, WavesLate: 4,
		WaveSpreads: []time.Duration{time.Millisecond, 2500 * time.Microsecond, 40 * time.Millisecond},
		Settled:     19_000, Reconnects: 2, Broken: 1, Closes: map[int]int64{4008: 1, 4500: 1},
		Faults: map[string]int64{},
	}
}

func reported(t *testing.T, name string, asJSON bool, c *benchCmd, r *bench.Report, l ledgerCheck) {
	t.Helper()
	var out bytes.Buffer
	b := c.summary([]string{"c1"}, 997, r)
	b.audit(l)
	if err := b.show(&App{Stdout: &out, Location: time.UTC}, asJSON); err != nil {
		t.Fatal(err)
	}
	file := "testdata/" + name
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestBenchReport(t *testing.T) {
	c := &benchCmd{URL: []string{"http://a:8080", "ws://b:8080"}, Players: 1_000}
	found := bench.AuditFindings{
		Told: 20_000, AmountTold: 2_000_000, Settled: 19_998, Unsettled: 1, Missing: 1, Untold: 2,
		Examples: []string{"claim c1-7, 0.88, was told to u1 and is not in the ledger"},
	}
	checked := ledgerCheck{AuditFindings: found, checked: true, waited: 30_100 * time.Millisecond}
	reported(t, "bench.golden", false, c, aReport(), checked)
	reported(t, "bench-json.golden", true, c, aReport(), checked)

	fine := aReport()
	fine.Joined, fine.Players, fine.Failed, fine.Errors, fine.Unanswered, fine.Closes = 997, 997, nil, nil, 0, nil
	sound := ledgerCheck{AuditFindings: bench.AuditFindings{Told: 20_000, AmountTold: 2_000_000, Settled: 20_000},
		checked: true, waited: 43 * time.Millisecond}
	reported(t, "bench-fine.golden", false, &benchCmd{URL: c.URL, Players: 997, ClosedLoop: true,
		Think: 200 * time.Millisecond}, fine, sound)
	reported(t, "bench-unchecked.golden", false, c, fine,
		ledgerCheck{reason: errors.New("no answer from http://a:8080: connection refused")})
}

// A win that is in the ledger and was never told is excused by a tap without a result, and by nothing else.
func TestBenchFindsWinsThatNobodyWasTold(t *testing.T) {
	for untold, want := range map[int]bool{8: true, 9: false} {
		fine := aReport() // 8 taps are lost
		fine.Joined, fine.Players, fine.Failed, fine.Errors, fine.Unanswered, fine.Closes = 997, 997, nil, nil, 0, nil
		b := (&benchCmd{Players: 997}).summary([]string{"c1"}, 997, fine)
		b.audit(ledgerCheck{AuditFindings: bench.AuditFindings{Told: 1, Settled: 1, Untold: untold}, checked: true})
		if b.OK != want {
			t.Errorf("%d untold: %v", untold, b.Problems)
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

// Who comes in while the game is followed is counted, and says nothing: the line is that of the game then.
func TestBenchScreenTellsOneThingAtATime(t *testing.T) {
	var said bytes.Buffer
	screen := newBenchScreen(&App{Stderr: &said, WatchEvery: time.Hour})
	arrive := screen.arrival(2)
	arrive()
	before := said.String()
	done := screen.follow(nil, time.Second) // nobody is asked for progress before the first tick
	arrive()
	done()
	if !strings.HasPrefix(before, "1 of 2 players") || said.String() != before {
		t.Errorf("%q, then %q", before, said.String())
	}
}
