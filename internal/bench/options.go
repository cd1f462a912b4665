package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"
)

// Options say how many play, where, and with which tokens.
type Options struct {
	// Targets are sockets' addresses, ws://host:port/ws or wss://…; players are spread over them in turn. Required.
	Targets   []string
	Campaigns []string // players are spread over them in turn; required
	Players   int      // required
	// Token returns a player's token. It is called once for each, by several goroutines at a time. Required.
	// If its error has a method RetryAfter() time.Duration, the player comes back then.
	Token func(ctx context.Context, player int) (string, error)

	Header func(player int) http.Header // sent with the handshake. Defaults to nothing
	// Turn asks for a player's turn in a campaign's waiting room, which keeps the position. By default a player who
	// has to wait comes back to the socket when the server says.
	Turn func(ctx context.Context, player int, token, campaign string) (Turn, error)
	// Knock has Gather return when each player has joined, or was told to wait for a slot.
	Knock bool

	Ramp       time.Duration // over which the players come in. Defaults to 0: as fast as they can
	JoinWithin time.Duration // after the ramp, for all to have joined. Defaults to 30 s
	Arrived    func()        // is called whenever a player has joined; must be quick. Defaults to nothing
}

// Plan says how the players tap.
type Plan struct {
	Duration time.Duration // for which taps are sent; required
	// Rate is in taps per second over all players, at even distances, whether the server keeps up or not (open loop).
	// Defaults to 0: each player taps again when the result of the tap before has come (closed loop).
	Rate  float64
	Think time.Duration // closed loop: a player's pause after each result
	Hand  *Hand         // instead of both: the player taps as a person or a program who wants to win
	Stay  time.Duration // after which a player goes for good. Defaults to 0: nobody goes
	Watch bool          // nobody taps
	Drain time.Duration // for results that are still missing in the end. Defaults to 10 s
}

// Hand is how a person or a program taps. The funcs are called by several goroutines at a time.
type Hand struct {
	Reaction func() time.Duration // from a drop's opening to the tap, at least; another one for each tap
	Pause    func() time.Duration // between two taps, at least
}

func (o Options) withDefaults() (Options, error) {
	if o.JoinWithin == 0 {
		o.JoinWithin = 30 * time.Second
	}
	if o.Arrived == nil {
		o.Arrived = func() {}
	}
	return o, CheckPlayers(o.Players)
}

// CheckPlayers returns an error if this process may not have so many players at a time.
func CheckPlayers(players int) error {
	if most, ok := openFiles(); ok && players > most-spareFiles {
		return fmt.Errorf("%d players need as many open files, and this process may have %d: ask for at most %d "+
			"players, raise the limit (ulimit -Hn), or use several machines",
			players, most, most-spareFiles)
	}
	return nil
}

// spareFiles are for all but the players' sockets: standard streams, handshakes, HTTP.
const spareFiles = 200

// closed tells whether each player decides by itself when it taps.
func (p *Plan) closed() bool { return !p.Watch && p.Rate == 0 }

// PerAddress players come from one address of this machine. It stays far below the ports that an address has
// (28,000 by default), and below the connections that the server allows for one address.
const PerAddress = 1000

// SourceAddress is the address of this machine that a player comes from: one of 127.0.0.1, 127.0.0.2 and so on if the
// target is this machine itself, else nil for the system's choice.
func SourceAddress(target string, player int) net.Addr {
	host, _, err := net.SplitHostPort(target)
	if err != nil || runtime.GOOS != "linux" { // elsewhere only 127.0.0.1 exists without being set up
		return nil
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || ip.To4() == nil || !ip.IsLoopback()) {
		return nil
	}
	n := 1 + player/PerAddress
	return &net.TCPAddr{IP: net.IPv4(127, 0, byte(n>>8), byte(n))} //nolint:gosec // two bytes hold 65 million players
}
