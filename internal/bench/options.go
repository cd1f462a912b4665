package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"

	"redrain/client/openapi"
)

// Options are the options of Gather.
type Options struct {
	// Targets are sockets' addresses, ws://host:port/ws or wss://…; players are spread over them in turn. Required.
	Targets   []string
	Campaigns []string // players are spread over them in turn; required
	Players   int      // required
	// Token returns a player's token. It is called once for each player, by several goroutines at a time. Required. If
	// its error has a method RetryAfter() time.Duration, the player retries then.
	Token func(ctx context.Context, player int) (string, error)

	Header func(player int) http.Header // sent with the handshake. Defaults to nothing
	// Turn requests a player's position in a campaign's waiting room, which keeps it. By default a waiting player
	// reconnects after the server's pause.
	Turn func(ctx context.Context, player int, token, campaign string) (openapi.Admission, error)
	// Knock makes Gather return when each player has joined or waits for a slot.
	Knock bool

	Ramp       time.Duration    // over which the players join. Defaults to 0: as fast as they can
	JoinWithin time.Duration    // after the ramp, for all to have joined. Defaults to 30 s
	Arrived    func(joined int) // called after each join; must be quick. May be nil
}

// Plan describes the taps of a Play.
type Plan struct {
	Duration time.Duration // for which taps are sent; required
	// Rate is in taps per second over all players, at even distances (open loop). Defaults to 0: each player taps again
	// after the result of the last tap (closed loop).
	Rate  float64
	Think time.Duration // closed loop: a player's pause after each result.
	Hand  *Hand         // instead of both: the player taps like a person or a program.
	Stay  time.Duration // after which a player leaves for good. Defaults to 0: never
	Watch bool          // no player taps
	Drain time.Duration // for results that are missing at the end. Defaults to 10 s
}

// Hand imitates a person or a program. The funcs are called by several goroutines at a time.
type Hand struct {
	Reaction func() time.Duration // least time from a drop's opening to the tap, called for each tap
	Pause    func() time.Duration // least time between two taps
}

// CheckPlayers returns an error if this process cannot have that many players at a time.
func CheckPlayers(players int) error {
	if most, ok := openFiles(); ok && players > most-spareFiles {
		return fmt.Errorf("%d players need as many open files, and this process may have %d: ask for at most %d "+
			"players, raise the limit (ulimit -Hn), or use several machines",
			players, most, most-spareFiles)
	}
	return nil
}

// spareFiles is the reserve beside the players' sockets: standard streams, handshakes, HTTP.
const spareFiles = 200

// closed reports whether the plan is a closed loop.
func (p *Plan) closed() bool { return !p.Watch && p.Rate == 0 }

// PerAddress is the number of players from one address of this machine. It is far below the ports of an address (28,000
// by default), and below the server's limit of connections for one address.
const PerAddress = 1000

// SourceAddress returns the address from which a player connects. It is 127.0.0.1, 127.0.0.2 and so on if the target is
// this machine, else nil for the system's choice.
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
