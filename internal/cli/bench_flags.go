package cli

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"redrain/internal/bench"
	"redrain/rain"
)

// benchCmd plays simulated players against running servers. The default of a setting that is 0 depends on others; see
// plan, spec and rain.
type benchCmd struct {
	Server   string   `group:"remote" default:"http://localhost:8080" help:"A server's address, as for the other commands."`
	URL      []string `group:"remote" name:"url" placeholder:"URL" help:"Instead, a server's address, http:// or ws://; again for each further node."`
	Token    string   `group:"remote" secret:"" placeholder:"TOKEN" help:"Operator's token: bench creates a campaign and a rain, books their money, and closes the campaign afterwards. With --campaign a viewer's token is enough, to compare with the ledger."`
	Campaign []string `group:"remote" placeholder:"ID" help:"Play these campaigns, and wait until it rains. Without it and without --token: the campaign of the start page."`

	Players       int           `group:"load" default:"100" least:"1" help:"Simulated players."`
	JWTAudience   string        `group:"load" name:"jwt-audience" placeholder:"AUD" help:"The aud of these tokens, if the server requires one."`
	JWTIssuer     string        `group:"load" name:"jwt-issuer" placeholder:"ISS" help:"The iss of these tokens, if the server requires one."`
	JWTSecret     string        `group:"load" secret:"" name:"jwt-secret" placeholder:"SECRET" help:"The server's secret, to mint the players' tokens. Without it they are guests, if those are allowed."`
	Ramp          time.Duration `group:"load" default:"0s" least:"0s" help:"Time over which the players join; 0 for as fast as they can."`
	Duration      time.Duration `group:"load" default:"10s" least:"1ms" help:"Time for which they tap."`
	TapsPerSecond float64       `group:"load" default:"0" least:"0" placeholder:"N" help:"Taps per second of all players together, at even distances, whether the server keeps up or not. By default 3 for each player. Above the server's limit of 20 (--tap-rate) the result is too_fast."`
	ClosedLoop    bool          `group:"load" help:"Instead, each player taps again after the result."`
	Think         time.Duration `group:"load" default:"0s" least:"0s" help:"Pause of a player after each result, with --closed-loop."`
	Stay          time.Duration `group:"load" default:"0s" least:"0s" help:"Time after which a player leaves for good, and frees a slot for a waiting one; 0: never."`
	Wait          time.Duration `group:"load" default:"1m" least:"0s" help:"Longest wait for a rain that bench has not started."`
	SettleWithin  time.Duration `group:"load" default:"1m" least:"0s" help:"Longest wait for the wins to be in the ledger."`
	JSON          bool          `name:"json" help:"Report as one JSON object, described in docs/use/bench.md."`

	benchRainFlags
	benchRivalFlags
}

// benchRainFlags are the settings of bench's own campaign and rain.
type benchRainFlags struct {
	Packets        int           `group:"benchrain" default:"0" least:"0" placeholder:"N" help:"Packets. By default 5 % more than the expected taps (for a closed loop 20,000 a second), so that every tap wins, which is the most work."`
	Budget         rain.Money    `group:"benchrain" default:"0" least:"0" placeholder:"FEN" help:"Budget in fen. By default 100 for each packet."`
	WinsPerUser    int           `group:"benchrain" default:"0" least:"0" placeholder:"N" help:"Packets that one player may win. By default all of them."`
	Shards         int           `group:"benchrain" default:"${shards}" help:"Parts of the stock."`
	DropsPerSecond int           `group:"benchrain" default:"0" least:"0" placeholder:"N" help:"Drops that appear in a second. By default enough for all taps; 400 for a closed loop."`
	Fall           time.Duration `group:"benchrain" default:"0s" least:"0s" placeholder:"DURATION" help:"Longest time that a drop is in the air. By default 4s; 20s for a closed loop."`
	Pacing         rain.Pacing   `group:"benchrain" placeholder:"HOW" help:"How the stock is released: none (default), or even over the duration (default with --farm and --bot)."`
	Odds           *rain.Odds    `group:"benchrain" placeholder:"ODDS" help:"Chance of a player's draw in each beat: a number above 0, or auto. By default 1: no draws; with --bot auto."`
	Capacity       int           `group:"benchrain" default:"0" least:"0" placeholder:"N" help:"Players who may be in the room; the others wait. 0: no limit."`
	AdmitPerSecond int           `group:"benchrain" default:"0" least:"0" placeholder:"N" help:"Players admitted in a second; 0: all at once."`
}

func (c *benchCmd) check() (faults faultList) {
	for _, address := range c.nodes() {
		_, err := benchNodeOf(address)
		flag := "--server: "
		if len(c.URL) > 0 {
			flag = "--url: "
		}
		faults.when(err != nil, fmt.Sprint(flag, err))
	}
	err := bench.CheckPlayers(c.Players)
	faults.when(err != nil, fmt.Sprint("--players: ", err))
	faults.when(c.ClosedLoop && c.TapsPerSecond > 0, "--taps-per-second and --closed-loop: give one of them")
	faults.when(!c.ClosedLoop && c.Think > 0, "--think: belongs to --closed-loop")
	c.checkRivals(faults.when)
	faults.when(c.ownRain() && c.Duration > longestRain, fmt.Sprintf("--duration: a rain lasts %s at most; "+
		"for a longer run start rains of your own and name their campaign", longestRain))
	given := c.benchRainFlags
	given.Shards = 0 // it has a default
	faults.when(!c.ownRain() && given != benchRainFlags{}, "--packets, --budget, --wins-per-user, "+
		"--drops-per-second, --fall, --pacing, --odds, --capacity and --admit-per-second are for a rain of bench's "+
		"own: they take --token, and no --campaign")
	return faults
}

// mostWins is the limit of wins_per_user (rain.Spec).
const mostWins = 1_000_000

// longestRain is the limit of duration_ms (rain.RainSpec).
const longestRain = 10 * time.Minute

// ownRain reports whether bench creates its own campaign.
func (c *benchCmd) ownRain() bool { return c.Token != "" && len(c.Campaign) == 0 }

// plan returns the plan of the taps.
func (c *benchCmd) plan() bench.Plan {
	p := bench.Plan{Duration: c.Duration, Think: c.Think, Stay: c.Stay}
	if !c.ClosedLoop {
		const tapsEach = 3 // a second, of a busy person
		p.Rate = cmp.Or(c.TapsPerSecond, tapsEach*float64(c.Players))
	}
	return p
}

// spec returns bench's own campaign, with defaults for the missing settings.
func (c *benchCmd) spec(name string) rain.Spec {
	const (
		closedRate = 20_000
		someMore   = 1.05 // the last taps may be late
	)
	s := rain.DefaultSpec()
	s.Name, s.Sponsor = name, name
	s.Packets, s.Budget, s.WinsPerUser, s.Shards = c.Packets, c.Budget, c.WinsPerUser, c.Shards
	s.Capacity, s.AdmitPerSecond = c.Capacity, c.AdmitPerSecond
	if s.Packets == 0 {
		rate := c.plan().Rate
		if c.ClosedLoop {
			rate = closedRate
		}
		s.Packets = int(min(max(math.Ceil(rate*c.Duration.Seconds()*someMore), 1), rain.MaxPackets))
	}
	s.Budget = cmp.Or(s.Budget, rain.Money(s.Packets)*100)
	s.WinsPerUser = cmp.Or(s.WinsPerUser, min(s.Packets, mostWins))
	return s
}

// rain returns bench's own rain: a little longer than the taps.
func (c *benchCmd) rain() rain.RainSpec {
	const startsIn, longer = 1_000, 1_000
	r := rain.DefaultRain()
	r.StartsInMS = new(int64(startsIn))
	r.DurationMS = min(c.Duration.Milliseconds()+longer, longestRain.Milliseconds())
	r.DropsPerSecond, r.FallMS, r.Pacing = c.DropsPerSecond, c.Fall.Milliseconds(), cmp.Or(c.Pacing, r.Pacing)
	if c.Odds != nil {
		r.Odds = *c.Odds
	}
	if c.ClosedLoop { // a player taps each drop once, so fast players need many
		r.DropsPerSecond, r.FallMS = cmp.Or(r.DropsPerSecond, rain.MaxDropsPerSecond), cmp.Or(r.FallMS, 20_000)
	}
	// Twice the taps, so that no player waits for the next drop.
	each := int(math.Ceil(2 * c.plan().Rate / float64(c.Players)))
	r.DropsPerSecond = cmp.Or(r.DropsPerSecond, min(max(each, 8), rain.MaxDropsPerSecond))
	r.FallMS = cmp.Or(r.FallMS, 4_000)
	return r
}

// benchNode is one server: the addresses of its WebSocket and its HTTP API.
type benchNode struct{ socket, http string }

// benchNodeOf parses an address.
func benchNodeOf(address string) (benchNode, error) {
	u, err := url.Parse(address)
	scheme := map[string]string{"http": "ws", "ws": "ws", "https": "wss", "wss": "wss"}
	if err != nil || u.Host == "" || scheme[u.Scheme] == "" || u.RawQuery != "" || u.Fragment != "" {
		return benchNode{}, fmt.Errorf("%q is not like http://host:port or ws://host:port/ws", address)
	}
	root := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/ws")
	web, socket := *u, *u
	web.Scheme, web.Path = map[string]string{"ws": "http", "wss": "https"}[scheme[u.Scheme]], root
	socket.Scheme, socket.Path = scheme[u.Scheme], root+"/ws"
	return benchNode{socket: socket.String(), http: web.String()}, nil
}

// nodes returns the servers' addresses.
func (c *benchCmd) nodes() []string {
	if len(c.URL) > 0 {
		return c.URL
	}
	return []string{c.Server}
}
