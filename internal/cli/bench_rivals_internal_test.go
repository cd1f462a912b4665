package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redrain/rain"
)

// What the sides have won is summed over the rains, and fails beyond the limits alone.
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
			if err := r.show(&App{Stdout: &out, Location: time.UTC}, false); err != nil ||
				!strings.Contains(out.String(), fmt.Sprintf("%.1f %% of what was won", 100*r.Share)) {
				t.Errorf("%v: %s", err, out.String())
			}
		})
	}
}

func withBot(leastHeld int) benchCmd {
	return benchCmd{benchRivalFlags: benchRivalFlags{Bot: true, LeastHeld: leastHeld}}
}

// Everybody has an address of their own but a farm; and luck decides against a program alone, unless somebody says so.
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
