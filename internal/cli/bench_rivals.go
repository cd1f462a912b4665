package cli

import (
	"fmt"
	"math/rand/v2"
	"time"

	"redrain/internal/bench"
	"redrain/rain"
)

// benchRivalFlags have guests play against people.
type benchRivalFlags struct {
	Farm        int     `group:"benchrivals" default:"0" placeholder:"N" help:"So many guests of one address. The server must take this machine's word for who calls: --trusted-proxies with its address, and none in --address-exempt."`
	Bot         bool    `group:"benchrivals" help:"A program that taps every drop when it opens, another one in each rain."`
	Rains       int     `group:"benchrivals" default:"0" placeholder:"N" help:"Rains that they play. By default 1 with --farm, 10 with --bot."`
	MostShare   float64 `group:"benchrivals" name:"most-farm-share" default:"0.15" placeholder:"PART" help:"Fail where the farm has won more of what was won."`
	MostPerHead float64 `group:"benchrivals" default:"1.2" placeholder:"N" help:"Fail where a program has won more than so many times what a person has."`
	LeastHeld   int     `group:"benchrivals" default:"0" placeholder:"N" help:"Fail where wins of the program were held in fewer rains; with --risk hold."`
	Reaction    span    `group:"benchrivals" default:"250ms-600ms" placeholder:"FROM-TO" help:"How long people need to see a drop and to tap it, at least."`
	Pause       span    `group:"benchrivals" default:"280ms-390ms" placeholder:"FROM-TO" help:"How long people rest between two taps, at least."`
	BotTapRate  float64 `group:"benchrivals" default:"18" placeholder:"N" help:"Taps per second of a program, or of one of a farm. Above the server's --tap-rate it is sent away."`
}

// rivals tells whether guests of two kinds play against each other.
func (c *benchCmd) rivals() bool { return c.Farm != 0 || c.Bot }

func (c *benchCmd) checkRivals(fault func(bad bool, text string)) {
	fault(c.Farm < 0 || c.Rains < 0 || c.MostShare < 0 || c.MostPerHead < 0 || c.LeastHeld < 0 || c.BotTapRate <= 0,
		"--farm, --rains, --most-farm-share, --most-per-head, --least-held and --bot-tap-rate: too small")
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
	if err := bench.CheckPlayers(c.Players + max(c.Farm, 1)); err != nil {
		fault(true, "--players and --farm: "+err.Error())
	}
}

// person is the hand of somebody who plays. By default as well as people can: a quarter of a second is quick, and three
// taps in a second are busy.
func (c *benchCmd) person() *bench.Hand {
	return &bench.Hand{Reaction: c.Reaction.any, Pause: c.Pause.any}
}

// program is the fastest hand that a server lets play.
func program(tapsPerSecond float64) *bench.Hand {
	pause := time.Duration(float64(time.Second) / tapsPerSecond)
	return &bench.Hand{
		Reaction: func() time.Duration { return 0 },
		Pause:    func() time.Duration { return pause },
	}
}

// The addresses that the players are said to call from: a farm's and a program's are for documents (RFC 5737), people's
// for benchmarks (RFC 2544).
const farmAddress = "203.0.113.7"

func personsAddress(player int) string {
	return fmt.Sprintf("198.%d.%d.%d", 18+player/62_500, player/250%250, 1+player%250)
}

func botsAddress(int) string {
	return fmt.Sprintf("203.0.113.%d", 8+rand.IntN(247)) //nolint:gosec // not a secret
}

// sides are the people, and their rivals.
func (c *benchCmd) sides(server string) (people, rivals *benchPlayers) {
	people = newBenchPlayers("people", c.Players, server, personsAddress, c.person())
	if c.Bot {
		return people, newBenchPlayers("bot", 1, server, botsAddress, program(c.BotTapRate))
	}
	return people, newBenchPlayers("farm", c.Farm, server, func(int) string { return farmAddress },
		program(c.BotTapRate))
}

// rivalRains is how many rains are played.
func (c *benchCmd) rivalRains() int {
	if c.Bot {
		return or(c.Rains, 10)
	}
	return or(c.Rains, 1)
}

// rivalSpec is the campaign of one of these rains. There is about one packet for two beats of a person.
func (c *benchCmd) rivalSpec(name string) rain.Spec {
	const least, mostOfOne = 160, 1_000
	with := *c
	with.Packets = or(c.Packets, max(least, int(float64(c.Players)*c.Duration.Seconds()/2)))
	with.WinsPerUser = or(c.WinsPerUser, mostOfOne)
	return with.spec(name)
}

// rivalRain is one of these rains: its stock is released over all of it, and against a program luck decides.
func (c *benchCmd) rivalRain() rain.RainSpec {
	const startsIn = 5_000 // the first odds are set some seconds before the start
	in := int64(startsIn)
	with := *c
	with.Pacing = or(c.Pacing, rain.PacingEven)
	if auto := rain.OddsAuto; c.Bot && c.Odds == nil {
		with.Odds = &auto
	}
	r := with.rain()
	r.StartsInMS, r.DurationMS = &in, c.Duration.Milliseconds()
	return r
}
