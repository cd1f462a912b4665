package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redrain/client"
	"redrain/internal/bench"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
)

// aReport is a possible result of the engine.
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
	app := &App{Stdout: &out, Location: time.UTC}
	testenv.Must(t, app.show(asJSON, benchReport(*r)))
	Golden(t, name, out.String())
}

var update = flag.Bool("update", false, "write the golden files anew")

// Golden compares with a file of testdata.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		testenv.Must(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want := testenv.Got(os.ReadFile(file)).Must(t)
	testenv.Equal(t, cmp.Diff(string(want), got), "", "%s (-want +got)", name)
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

// A wrong ledger fails a run. Only a tap without a result excuses a win that no player was
// notified of.
func TestBenchJudgesTheLedger(t *testing.T) {
	for l, want := range map[*bench.Ledger]bool{{}: true, {Untold: 8}: true, {Untold: 9}: false, {Wrong: 1}: false,
		{Twice: 1}: false, {Missing: 1}: false, {Unsettled: 1}: false} {
		r := aGoodReport() // 8 taps are lost
		l.Checked = true
		if r.Judge(*l); r.OK != want {
			t.Errorf("%+v: %v", l, r.Problems)
		}
	}
}

// roundTrip is a function as an http.RoundTripper.
type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The last pass begins when the time is up: one that began before settlement ended proves nothing.
func TestBenchReadsTheLedgerOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var settled []client.Claim
		read := func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			err := json.NewEncoder(w).Encode(client.List[client.Claim]{Items: settled})
			settled = []client.Claim{{Claim: "c1-0", Amount: 5, State: client.ClaimSettled}}
			bench.Pause(r.Context(), 20*time.Second) // a long list
			return w.Result(), err
		}
		c, err := client.New(client.Options{Server: "http://a", HTTPClient: &http.Client{Transport: roundTrip(read)}})
		testenv.Must(t, err)
		cmd := &benchCmd{SettleWithin: 10 * time.Second}
		cmd.Token = "viewer"
		s := &benchRun{cmd: cmd, client: c, campaigns: []string{"c1"}, screen: newBenchScreen(&App{Stderr: io.Discard}),
			players: newBenchPlayers("", 1, "", nil, nil)}
		if l := s.audit(t.Context(), &bench.Report{Told: []bench.Win{{Claim: "c1-0", Amount: 5}}}); l.Settled != 1 {
			t.Errorf("%+v", l)
		}
	})
}

func TestBenchDefaults(t *testing.T) {
	c := &benchCmd{Players: 100, Duration: 10 * time.Second}
	testenv.Equal(t, c.plan().Rate, 300, "rate")
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

// The wins of both sides are summed over the rains. A run fails only beyond the limits.
func TestRivalReport(t *testing.T) {
	t.Parallel()
	rains := func(peopleWon, rivalsWon, peopleHeld, rivalsHeld int) []rivalRainReport {
		one := rivalRainReport{Packets: 100, People: rivalSideReport{Joined: 10, Won: peopleWon, Held: peopleHeld},
			Rivals: rivalSideReport{Joined: 1, Won: rivalsWon, Held: rivalsHeld}}
		return []rivalRainReport{one, one}
	}
	for name, tc := range map[string]struct {
		cmd    benchCmd
		rains  []rivalRainReport
		rivals int
		want   []string
	}{
		"a farm within": {benchCmd{}, rains(85, 15, 0, 0), 100, []string{}},
		"a farm too much": {benchCmd{}, rains(84, 16, 0, 0), 100, []string{
			"the farm has 16.0 % of what was won, and may have 15.0 %"}},
		"a bot within": {withBot(2), rains(50, 6, 0, 1), 1, []string{}},
		"a bot with too much, which nobody holds": {withBot(1), rains(50, 7, 0, 0), 1, []string{
			"the program has won 1.40 times what a person has, and may win 1.20",
			"wins of the bot were held in 0 of 2 rains, and should be in 1"}},
		"people who are held": {withBot(0), rains(50, 5, 1, 0), 1, []string{"wins of people were held in 2 rains"}},
		"nobody wins":         {benchCmd{}, rains(0, 0, 0, 0), 100, []string{"the people have won nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.cmd.MostShare, tc.cmd.MostPerHead = 0.15, 1.2
			r := &rivalReport{Against: "farm", Rains: tc.rains}
			if tc.cmd.Bot {
				r.Against = "bot"
			}
			r.sum(&tc.cmd, &benchPlayers{count: 10, worked: time.Second}, &benchPlayers{count: tc.rivals})
			if diff := cmp.Diff(tc.want, r.Problems); diff != "" || r.OK != (len(tc.want) == 0) {
				t.Errorf("ok %v: %s", r.OK, diff)
			}
			var out bytes.Buffer
			app := &App{Stdout: &out, Location: time.UTC}
			if err := app.show(false, r); err != nil ||
				!strings.Contains(out.String(), fmt.Sprintf("%.1f %% of what was won", 100*r.Share)) {
				t.Errorf("%v: %s", err, out.String())
			}
		})
	}
}

func withBot(leastHeld int) benchCmd {
	return benchCmd{benchRivalFlags: benchRivalFlags{Bot: true, LeastHeld: leastHeld}}
}

// Each player has an address of their own, except a farm's. The odds apply to a program alone, unless a flag sets them.
func TestRivalsSettings(t *testing.T) {
	t.Parallel()
	from := map[string]int{}
	for i := range 70_000 {
		from[personsAddress(i)]++
	}
	if len(from) != 70_000 || from[farmAddress] != 0 {
		t.Errorf("%d addresses of 70,000 people", len(from))
	}
	bot := benchCmd{Players: 50, Duration: 20 * time.Second, benchRivalFlags: benchRivalFlags{Bot: true}}
	if r, s := bot.rivalRain(), bot.rivalSpec("x"); r.Odds != rain.OddsAuto || r.Pacing != rain.PacingEven ||
		r.DurationMS != 20_000 || s.Packets != 500 || bot.rivalRains() != 10 {
		t.Errorf("%+v, %+v", r, s)
	}
	half := rain.OddsOne / 2
	bot.Odds, bot.Pacing, bot.Packets, bot.Rains = &half, rain.PacingNone, 7, 2
	if r, s := bot.rivalRain(), bot.rivalSpec("x"); r.Odds != half || r.Pacing != rain.PacingNone || s.Packets != 7 ||
		bot.rivalRains() != 2 {
		t.Errorf("%+v, %+v", r, s)
	}
	farm := benchCmd{Players: 50, Duration: 20 * time.Second, benchRivalFlags: benchRivalFlags{Farm: 500}}
	if r := farm.rivalRain(); r.Odds != rain.OddsCertain || farm.rivalRains() != 1 {
		t.Errorf("%+v", r)
	}
}

func TestRestoredSaysWhatItNeeds(t *testing.T) {
	t.Parallel()
	for faults, c := range map[int]restoredCmd{
		0: {MySQL: "u@/db", Reason: "x"},
		1: {DataDir: "d", Paid: "f", End: true},
		2: {MySQL: "u@/db", DataDir: "d"},
	} {
		if got := c.check(); len(got) != faults {
			t.Errorf("%+v: %q, want %d faults", c, got, faults)
		}
	}
}

func TestTuneCollector(t *testing.T) {
	const before = 90
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	for _, test := range []struct {
		roles []string
		gogc  string
		want  int
	}{
		{[]string{"gateway", "operator"}, "", 50},
		{[]string{"gateway", "settle"}, "", 50},
		{[]string{"relay", "settle"}, "", 400},
		{[]string{"settle"}, "70", before},
		{[]string{"operator"}, "", before},
		{[]string{"gateway"}, "off", before},
	} {
		t.Setenv("GOGC", test.gogc)
		tuneCollector(test.roles)
		if got := debug.SetGCPercent(before); got != test.want {
			t.Errorf("roles %v, GOGC=%q: %d %%, want %d", test.roles, test.gogc, got, test.want)
		}
	}
}

// A test has no terminal, so the drawing is tested from inside.
func TestRedrawn(t *testing.T) {
	var screen bytes.Buffer
	show := redrawn(&App{Stdout: &screen, Location: time.UTC})
	g := glance{At: 1_771_329_600_000, Campaign: "c1", State: "ready", name: "\x1b[2J",
		Stats: client.Stats{Won: 7, AmountWon: 88}}
	testenv.Must(t, show(g))
	first := screen.String()
	if strings.Contains(first, "\x1b[2J") || strings.Contains(first, "A\x1b") ||
		!strings.Contains(first, "no rain yet") || !strings.Contains(first, "0.88") {
		t.Errorf("first: %q", first)
	}
	screen.Reset()
	g.Rain = &wire.Rain{ID: "r1", Phase: rain.PhaseFalling}
	testenv.Must(t, show(g))
	if n := strings.Count(first, "\n"); !strings.HasPrefix(screen.String(), "\x1b["+string(rune('0'+n))+"A") ||
		strings.Count(screen.String(), "\n") != n {
		t.Errorf("the second does not cover the first: %q", screen.String())
	}
}
