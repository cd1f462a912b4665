package cli

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"redrain/internal/bench"
	"redrain/rain"
)

// benchRivalFlags let guests play against people.
type benchRivalFlags struct {
	Farm        int     `group:"benchrivals" default:"0" least:"0" placeholder:"N" help:"Number of guests of one address. The server must trust this machine as a proxy: --trusted-proxies with its address, and no --address-exempt."`
	Bot         bool    `group:"benchrivals" help:"A program that taps every drop when it opens, another one in each rain."`
	Rains       int     `group:"benchrivals" default:"0" least:"0" placeholder:"N" help:"Rains that they play. By default 1 with --farm, 10 with --bot."`
	MostShare   float64 `group:"benchrivals" name:"most-farm-share" default:"0.15" least:"0" placeholder:"PART" help:"Fail if the farm's share of the wins is higher."`
	MostPerHead float64 `group:"benchrivals" default:"1.2" least:"0" placeholder:"N" help:"Fail if a program has won more than this multiple of a person's wins."`
	LeastHeld   int     `group:"benchrivals" default:"0" least:"0" placeholder:"N" help:"Fail if wins of the program were held in fewer rains; with --risk hold."`
	Reaction    span    `group:"benchrivals" default:"250ms-600ms" placeholder:"FROM-TO" help:"Least time in which people see a drop and tap it."`
	Pause       span    `group:"benchrivals" default:"280ms-390ms" placeholder:"FROM-TO" help:"Least pause of people between two taps."`
	BotTapRate  float64 `group:"benchrivals" default:"18" least:"0.01" placeholder:"N" help:"Taps per second of a program, or of one guest of a farm. Above the server's --tap-rate it is disconnected."`
}

// rivals reports whether guests of two kinds play against each other.
func (c *benchCmd) rivals() bool { return c.Farm != 0 || c.Bot }

func (c *benchCmd) checkRivals(fault func(bad bool, text string)) {
	if !c.rivals() {
		fault(c.Rains != 0 || c.LeastHeld != 0, "--rains and --least-held: belong to --farm and --bot")
		return
	}
	fault(!c.Reaction.valid() || !c.Pause.valid(), "--reaction and --pause: the second time is not the shorter one")
	fault(c.Farm > 0 && c.Bot, "--farm and --bot: give one of them")
	fault(!c.ownRain(), "--farm and --bot make campaigns of their own: they take --token, and no --campaign")
	fault(c.JWTSecret != "" || c.ClosedLoop || c.TapsPerSecond > 0 || c.Ramp > 0 || c.Stay > 0,
		"--farm and --bot: their players are guests who tap as people and programs do; leave out --jwt-secret, "+
			"--ramp, --stay, --closed-loop and --taps-per-second")
	err := bench.CheckPlayers(c.Players + max(c.Farm, 1))
	fault(err != nil, fmt.Sprint("--players and --farm: ", err))
}

// program returns the fastest hand that a server admits.
func program(tapsPerSecond float64) *bench.Hand {
	pause := time.Duration(float64(time.Second) / tapsPerSecond)
	return &bench.Hand{
		Reaction: func() time.Duration { return 0 },
		Pause:    func() time.Duration { return pause },
	}
}

// The simulated addresses: a farm and a program have addresses for documentation (RFC 5737), people those for
// benchmarks (RFC 2544).
const farmAddress = "203.0.113.7"

func personsAddress(player int) string {
	return fmt.Sprintf("198.%d.%d.%d", 18+player/62_500, player/250%250, 1+player%250)
}

func botsAddress(int) string {
	return fmt.Sprintf("203.0.113.%d", 8+rand.IntN(247)) //nolint:gosec // not a secret
}

// sides returns the people and their rivals. By default people play as well as they can: with a reaction time of a
// quarter of a second, and three taps a second.
func (c *benchCmd) sides(server string) (people, rivals *benchPlayers) {
	people = newBenchPlayers("people", c.Players, server, personsAddress,
		&bench.Hand{Reaction: c.Reaction.any, Pause: c.Pause.any})
	if c.Bot {
		return people, newBenchPlayers("bot", 1, server, botsAddress, program(c.BotTapRate))
	}
	return people, newBenchPlayers("farm", c.Farm, server, func(int) string { return farmAddress },
		program(c.BotTapRate))
}

// rivalRains returns the number of rains.
func (c *benchCmd) rivalRains() int {
	if c.Bot {
		return cmp.Or(c.Rains, 10)
	}
	return cmp.Or(c.Rains, 1)
}

// rivalSpec returns the campaign of one of these rains. It has about one packet for two beats of a person.
func (c *benchCmd) rivalSpec(name string) rain.Spec {
	const least, mostOfOne = 160, 1_000
	with := *c
	with.Packets = cmp.Or(c.Packets, max(least, int(float64(c.Players)*c.Duration.Seconds()/2)))
	with.WinsPerUser = cmp.Or(c.WinsPerUser, mostOfOne)
	return with.spec(name)
}

// rivalRain returns one of these rains: its stock is released over all of it, and against a program it has draws.
func (c *benchCmd) rivalRain() rain.RainSpec {
	const startsIn = 5_000 // the first odds are set some seconds before the start
	in := int64(startsIn)
	with := *c
	with.Pacing = cmp.Or(c.Pacing, rain.PacingEven)
	if auto := rain.OddsAuto; c.Bot && c.Odds == nil {
		with.Odds = &auto
	}
	r := with.rain()
	r.StartsInMS, r.DurationMS = &in, c.Duration.Milliseconds()
	return r
}

// span is a range of durations: 250ms-600ms.
type span struct{ least, most time.Duration }

// UnmarshalText parses the value of a flag.
func (s *span) UnmarshalText(text []byte) (err error) {
	least, most, found := strings.Cut(string(text), "-")
	if !found {
		return fmt.Errorf("%q: give two times, such as 250ms-600ms", text)
	}
	if s.least, err = time.ParseDuration(least); err != nil {
		return err
	}
	s.most, err = time.ParseDuration(most)
	return err
}

func (s span) valid() bool { return 0 <= s.least && s.least <= s.most }

// any returns a duration of the range, uniformly at random.
func (s span) any() time.Duration {
	return s.least + rand.N(s.most-s.least+1) //nolint:gosec // not a secret
}

// rivalReport is the output of `redrain bench --farm` and `--bot` with --json; docs/use/bench.md describes it.
type rivalReport struct {
	OK       bool              `json:"ok"`
	Problems []string          `json:"problems"` // the reasons if OK is false
	Against  string            `json:"against"`  // farm or bot
	Rains    []rivalRainReport `json:"rains"`
	People   rivalTotal        `json:"people"`
	Rivals   rivalTotal        `json:"rivals"`
	Share    float64           `json:"share"`    // the rivals' share of all wins
	PerHead  float64           `json:"per_head"` // wins of a rival for each win of a person
	// Chance is the standard deviation of PerHead by chance alone.
	Chance float64 `json:"chance"`
}

// rivalRainReport is the result of one rain.
type rivalRainReport struct {
	Campaign string          `json:"campaign"`
	Packets  int             `json:"packets"`
	People   rivalSideReport `json:"people"`
	Rivals   rivalSideReport `json:"rivals"`
}

// rivalSideReport is the result of a side in a rain.
type rivalSideReport struct {
	Joined int   `json:"joined"` // players who have joined the room
	Taps   int64 `json:"taps"`
	Won    int   `json:"won"`  // packets
	Held   int   `json:"held"` // players with held wins

	heads []int // wins of each, in rising order
}

// rivalTotal is the result of a side over all rains.
type rivalTotal struct {
	Players   int     `json:"players"`
	Won       int     `json:"won"`
	Each      float64 `json:"each"`       // wins of one of them
	HeldRains int     `json:"held_rains"` // rains with held wins of at least one of them
	GuestsMS  int64   `json:"guests_ms"`  // time of creating the guests, with the proof of work
}

func (t *rivalTotal) add(s rivalSideReport) {
	t.Won += s.Won
	if s.Held > 0 {
		t.HeldRains++
	}
}

// sum computes the totals of the rains.
func (r *rivalReport) sum(c *benchCmd, people, rivals *benchPlayers) {
	r.People.Players, r.Rivals.Players = people.count, rivals.count
	r.People.GuestsMS, r.Rivals.GuestsMS = people.worked.Milliseconds(), rivals.worked.Milliseconds()
	for _, one := range r.Rains {
		r.People.add(one.People)
		r.Rivals.add(one.Rivals)
	}
	r.People.Each = float64(r.People.Won) / float64(r.People.Players)
	r.Rivals.Each = float64(r.Rivals.Won) / float64(r.Rivals.Players)
	if won := r.People.Won + r.Rivals.Won; won > 0 {
		r.Share = thousandths(float64(r.Rivals.Won) / float64(won))
	}
	if r.People.Won > 0 {
		r.PerHead = thousandths(r.Rivals.Each / r.People.Each)
		// Each win is an independent draw, approximately.
		r.Chance = thousandths(1 / math.Sqrt(r.People.Each*float64(r.Rivals.Players)))
	}
	problems := faultList{}
	problems.when(r.People.Won == 0, "the people have won nothing")
	problems.when(!c.Bot && r.Share > c.MostShare, fmt.Sprintf(
		"the farm has %.1f %% of what was won, and may have %.1f %%", 100*r.Share, 100*c.MostShare))
	problems.when(c.Bot && r.PerHead > c.MostPerHead, fmt.Sprintf(
		"the program has won %.2f times what a person has, and may win %.2f", r.PerHead, c.MostPerHead))
	problems.when(r.Rivals.HeldRains < c.LeastHeld, fmt.Sprintf(
		"wins of the %s were held in %d of %s, and should be in %d", r.Against, r.Rivals.HeldRains,
		count(len(r.Rains), "rain"), c.LeastHeld))
	problems.when(r.People.HeldRains > 0, "wins of people were held in "+count(r.People.HeldRains, "rain"))
	r.Problems, r.OK = problems, len(problems) == 0
}

func thousandths(f float64) float64 { return math.Round(f*1_000) / 1_000 }

func (r *rivalReport) show(t *table) {
	for i, one := range r.Rains {
		t.row(fmt.Sprintf("rain %d", i+1), fmt.Sprintf("%d packets", one.Packets), "people "+one.People.String(),
			r.Against+" "+one.Rivals.String())
	}
	_ = t.w.Flush() // new columns; the last Flush returns its error, too
	t.row("people", r.People.String())
	t.row(r.Against, r.Rivals.String())
	t.row("share", fmt.Sprintf("the %s has %.1f %% of what was won", r.Against, 100*r.Share))
	t.row("per head", fmt.Sprintf("%.2f times what a person has won; chance alone makes ±%.2f of that", r.PerHead,
		r.Chance))
}

// String returns a side of a rain as a cell.
func (s rivalSideReport) String() string {
	text := fmt.Sprintf("%d in, %d won", s.Joined, s.Won)
	if n := len(s.heads); n > 1 {
		text += fmt.Sprintf(" (each %d to %d)", s.heads[0], s.heads[n-1])
	}
	if s.Held > 0 {
		text += fmt.Sprintf(", %d held", s.Held)
	}
	return text
}

// String returns a side as a cell.
func (t rivalTotal) String() string {
	return fmt.Sprintf("%d, %d won, %.2f each; held in %s; made guests in %s", t.Players, t.Won, t.Each,
		count(t.HeldRains, "rain"), millis(t.GuestsMS).Round(100*time.Millisecond))
}
