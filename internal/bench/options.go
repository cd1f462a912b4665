package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"time"
)

// Options say how many play, where, and with which tokens.
type Options struct {
	// addresses of sockets, ws://host:port/ws or wss://…; the players are spread over them in turn. Required
	Targets   []string
	Campaigns []string // the players are spread over them in turn; required
	Players   int      // required
	// Token gives a player's token; it is called once for each, by several goroutines at a time. Required.
	Token func(ctx context.Context, player int) (string, error)

	// Header is what a player sends with the upgrade, beside what is needed; nil: nothing.
	Header func(player int) http.Header
	// Turn asks for a player's turn in a campaign's waiting room, which keeps the place. nil: who has to wait comes
	// back to the socket when the server says.
	Turn func(ctx context.Context, player int, token, campaign string) (Turn, error)
	// Knock has Gather return when each player has joined, or was told to wait for a seat.
	Knock bool

	Ramp       time.Duration // over which the players come in; 0: as fast as they can
	JoinWithin time.Duration // after the ramp, for all to have joined; 0: 30 s
	Stalled    int           // so many players read nothing once they have joined
	Loops      int           // event loops; 0: one for two processors
	Portable   bool          // do without epoll, as where there is none
	Arrived    func()        // is called whenever a player has joined; must be quick. nil: nothing is
	Log        *slog.Logger  // what goes wrong with single players, at level debug; nil: nothing
}

// Plan says how the players tap.
type Plan struct {
	Duration time.Duration // for which taps are sent; required
	// Rate is in taps per second over all players, at even distances, whether the server keeps up or not (open
	// loop). How long a tap takes is then counted from the moment when it should have been sent. 0: each player
	// taps again when the result of the tap before has come (closed loop).
	Rate  float64
	Think time.Duration // closed loop: a player's pause after each result
	Hand  *Hand         // instead of both: as a person or a program taps, who wants to win. nil: as a load does
	Stay  time.Duration // after which a player goes for good, whose seat another one may have; 0: nobody does
	Watch bool          // nobody taps
	Drain time.Duration // for results that are still missing in the end; 0: 10 s
}

func (o Options) withDefaults() (Options, error) {
	if o.JoinWithin == 0 {
		o.JoinWithin = 30 * time.Second
	}
	if o.Loops == 0 {
		o.Loops = max(1, runtime.GOMAXPROCS(0)/2)
	}
	o.Loops = min(o.Loops, max(1, o.Players))
	if o.Arrived == nil {
		o.Arrived = func() {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var errs []error
	switch {
	case o.Players < 1:
		errs = append(errs, errors.New("there must be at least one player"))
	case o.Token == nil:
		errs = append(errs, errors.New("the players have no tokens"))
	case len(o.Campaigns) == 0:
		errs = append(errs, errors.New("name a campaign to play"))
	case len(o.Targets) == 0:
		errs = append(errs, errors.New("name a server to play on"))
	}
	for _, t := range o.Targets {
		u, err := url.Parse(t)
		if err != nil || u.Host == "" || (u.Scheme != "ws" && u.Scheme != "wss") {
			errs = append(errs, fmt.Errorf("%q is not like ws://host:port/ws", t))
			continue
		}
		if u.Scheme == "wss" {
			o.Portable = true // epoll sees what is encrypted
		}
	}
	return o, errors.Join(append(errs, CheckPlayers(o.Players))...)
}

// CheckPlayers tells whether this process may have so many players at a time.
func CheckPlayers(players int) error {
	if most, ok := openFiles(); ok && players > most-spareFiles {
		return fmt.Errorf("%d players need as many open files, and this process may have %d: ask for at most %d "+
			"players, raise the limit (ulimit -Hn), or use several machines",
			players, most, most-spareFiles)
	}
	return nil
}

// spareFiles are for what is no player's socket: standard streams, pollers, connections that are just being made, HTTP.
const spareFiles = 200

func (p Plan) withDefaults() (Plan, error) {
	if p.Drain == 0 {
		p.Drain = 10 * time.Second
	}
	switch {
	case p.Duration <= 0:
		return p, errors.New("the duration must be above zero")
	case p.Rate < 0 || p.Think < 0 || p.Stay < 0:
		return p, errors.New("a rate, a pause or a stay cannot be less than zero")
	case p.Hand != nil && p.Rate > 0:
		return p, errors.New("hands have no timetable: give a rate or hands")
	}
	return p, nil
}
