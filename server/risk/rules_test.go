package risk

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger/standing"
	"redrain/server/config"
)

// TestRules holds what each rule says, at its limit and just below it, to the golden file. REDRAIN_UPDATE=1 writes it.
func TestRules(t *testing.T) {
	l := config.Default().RiskLimits
	var b strings.Builder
	for _, one := range []struct {
		name string
		s    Signals
	}{
		{"nobody has tapped", Signals{}},
		{"a person", Signals{Taps: 30, Fast: 1, Mean: 420, Spread: 101, Gaps: 29, GapSplay: 60}},
		{"a trained child", Signals{Taps: 30, Fast: 3, Mean: 180, Spread: 28, Gaps: 29, GapSplay: 25}},
		{"a person in a hall of winners, with a new account", Signals{Taps: 30, Mean: 420, Spread: 101, Winners: 500,
			Young: true}},
		{"a person who taps to the beat, in that hall", Signals{Taps: 30, Mean: 420, Spread: 101, Gaps: 29,
			Winners: 500, Young: true}},
		{"a person with a wrong clock, in that hall", Signals{Taps: 4, Mean: 420, Spread: 101, Astray: 26, Winners: 500,
			Young: true}},
		{"too few taps of a bot", Signals{Taps: 5, Fast: 5, Mean: 1}},
		{"a bot", Signals{Taps: 12, Fast: 12, Mean: 1, Gaps: 11}},
		{"a bot that is fast half of the time", Signals{Taps: 12, Fast: 6, Mean: 300, Spread: 290, Gaps: 11,
			GapSplay: 99}},
		{"a bot that is fast less than half of the time", Signals{Taps: 12, Fast: 5, Mean: 300, Spread: 290, Gaps: 11,
			GapSplay: 99}},
		{"a bot that waits as long as people, always the same", Signals{Taps: 12, Mean: 300, Spread: 3, Gaps: 11,
			GapSplay: 99}},
		{"one of a farm, whose hands differ a little", Signals{Taps: 12, Mean: 300, Spread: 15, Gaps: 12, GapSplay: 5,
			Chorus: 5, Crowd: .1}},
		{"one of as many where a crowd is as steady", Signals{Taps: 12, Mean: 300, Spread: 15, Gaps: 12, GapSplay: 5,
			Chorus: 30, Crowd: 11}},
		{"one of as many accounts of a session", Signals{Sessions: 10}},
		{"who guesses drops", Signals{Taps: 1, Mean: 300, Astray: 40}},
	} {
		j := Judge(one.s, l)
		fmt.Fprintf(&b, "%s: %s, %d\n", one.name, j.Act, j.Score)
		for _, r := range j.Reasons {
			fmt.Fprintf(&b, "    %s %d: %s\n", r.Rule, r.Score, r.Sentence)
		}
	}
	const file = "testdata/rules.golden"
	if os.Getenv("REDRAIN_UPDATE") != "" {
		testenv.Must(t, os.WriteFile(file, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	testenv.Must(t, err)
	if b.String() != string(want) {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestScoresThatAreNeverReached(t *testing.T) {
	bot := Signals{Taps: 12, Fast: 12, Mean: 1, Gaps: 11, Sessions: 99, Chorus: 99}
	never := config.Default().RiskLimits
	never.Hold = 0
	if j := Judge(bot, never); j.Act != standing.Allow || j.Score < 100 {
		t.Errorf("%+v", j)
	}
	deny := config.Default().RiskLimits
	deny.Deny = 100
	if j := Judge(bot, deny); j.Act != standing.Deny {
		t.Errorf("%+v", j)
	}
}

func TestMain(m *testing.M) { testenv.Main(m) }
