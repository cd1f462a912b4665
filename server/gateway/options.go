package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab"
	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/loop"
	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/room"
	"redrain/server/live"
	"redrain/server/risk"
	"redrain/server/riskurl"
)

// Players knows who a token belongs to, and until when it is good. [auth.Players] does.
type Players interface {
	Grant(ctx context.Context, token string) (auth.Grant, error)
}

// Campaigns finds campaigns. [cluster.Registry] does.
type Campaigns interface {
	Get(ctx context.Context, id string) (*rain.Campaign, error) // posting.ErrUnknownCampaign where there is none
	Cached(id string) *rain.Campaign                            // nil where this node does not know it
}

// Wins tells what a player has won of a campaign, oldest first, as far as it is confirmed.
type Wins interface {
	PlayersWins(ctx context.Context, c *rain.Campaign, user string) (confirm.PlayersWins, error)
}

// Claims tells what has become of a player's claims. [ledger.Claims] does.
type Claims interface {
	ClaimStates(ctx context.Context, user string, claims []string) (map[string]ledger.ClaimState, error)
}

// Limits tells whether one more of what is limited by key is allowed, and if not, after which time it will be.
type Limits interface {
	Allow(ctx context.Context, name, key string, rate, burst float64) (ok bool, after time.Duration, err error)
}

// Audience is the players to whom settlements are told. [cluster.Audience] is that.
type Audience interface {
	Join(ctx context.Context, user string)
	Leave(user string)
}

// Door lets players into the rooms of campaigns that let in a certain number. [admission.Door] does.
type Door interface {
	// Enter tells a player's turn. Leave is called for each connection that it has admitted; left is true where the
	// player has said that they go.
	Enter(ctx context.Context, c *rain.Campaign, user string) (store.Turn, error)
	Leave(campaign, user string, left bool)
}

// Addresses bound what the guests of one address may have of a campaign. [addresses.Caps] do.
type Addresses interface {
	// Enter returns what the player may win together with others; nil: all that the campaign allows. Leave is called
	// for each connection that it has let in.
	Enter(ctx context.Context, c *rain.Campaign, address, user string) (grab.Quota, error)
	Leave(campaign, address, user string)
}

// Connections knows every player's connections over all nodes. [presence.Connections] does.
type Connections interface {
	// Come notes a connection; Gateway.TooMany and Gateway.Among are told what follows. Gone ends it.
	Come(ctx context.Context, user string, n uint64, since int64)
	Gone(user string, n uint64)
}

// Problem answers a request that does not become a socket. [api.WriteProblem] does.
type Problem func(w http.ResponseWriter, status int, code, detail string)

// Options of a gateway. All are needed but those that say so.
type Options struct {
	Players   Players
	Campaigns Campaigns
	Gate      func(*rain.Campaign) Gate // a campaign's gate, always the same one
	Wins      Wins
	Claims    Claims
	Amounts   *rain.AmountsCache // says how large a win is among all; nil: nobody is told
	Limits    Limits
	Audience  Audience
	Banned    func(user string) bool // nil: nobody is
	// MayPlay tells whether somebody may take part in a campaign: playerlist.ErrNotInvited, playerlist.ErrDenied, or
	// why that cannot be told. nil: everybody may.
	MayPlay func(ctx context.Context, c *rain.Campaign, user, address string) error
	// Ask asks the operator's own risk system about a player who says hello and whom all others have let in:
	// playerlist.ErrDenied, riskurl.ErrNoAnswer, or why what it says cannot be written down. nil: nobody is asked.
	Ask            func(ctx context.Context, who riskurl.Caller) error
	Risk           *risk.Watch                // looks at how players tap; nil: nobody does
	Face           func(auth.Grant) wire.Face // how a player is shown; nil: under a masked id only
	Door           Door
	Addresses      Addresses // nil: none is bounded
	Connections    Connections
	Lobby          *room.Lobby
	Counts         *live.Counts
	TapRate        int      // taps per second and player, which the welcome tells; 0: no limit
	HelloRate      float64  // refused hellos per second and address, over all nodes; 0: no limit
	Arrivals       int      // connections taken within a second; 0: by the processors; below 0: no limit
	MaxConnections int      // sockets of this process; more are refused with 503
	AllowedOrigins []string // web origins that may open a socket besides the server's own; "*": all
	Problem        Problem
	Recoverer      *loop.Recoverer // nil: panics are logged only
	Clock          rain.Clock
	Log            *slog.Logger
	Registerer     prometheus.Registerer
}

// shared is what all sessions of a gateway use.
type shared struct {
	o        Options
	metrics  *metrics
	arrivals *arrivals
	people   *people
	refused  *refusedHellos
	numbers  atomic.Uint64 // of connections that have said hello
}
