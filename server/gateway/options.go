package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
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
)

// Players returns the owner and the expiry of a token. [auth.Players] implements it.
type Players interface {
	Grant(ctx context.Context, token string) (auth.Grant, error)
}

// Campaigns finds campaigns. cluster.Registry implements it.
type Campaigns interface {
	Get(ctx context.Context, id string) (*rain.Campaign, error) // posting.ErrUnknownCampaign if there is none
	Cached(id string) *rain.Campaign                            // nil if this node does not have it
}

// Wins returns a player's confirmed wins of a campaign, oldest first. [confirm.Confirmer] implements it.
type Wins interface {
	PlayersWins(ctx context.Context, c *rain.Campaign, user string) (confirm.PlayersWins, error)
}

// Claims returns the states of a player's claims. [ledger.Claims] implements it.
type Claims interface {
	ClaimStates(ctx context.Context, user string, claims []string) (map[string]ledger.ClaimState, error)
}

// Limits reports whether a limit by key allows one more, and if not, after which time it will. [store.Limits]
// implements it.
type Limits interface {
	Allow(ctx context.Context, name, key string, rate, burst float64) (ok bool, after time.Duration, err error)
}

// Door admits players to the rooms of campaigns with a limited capacity. admission.Door implements it.
type Door interface {
	// Enter returns whether a player is admitted, else the queue position. Leave is called for each admitted
	// connection; left is true if the player has left for good.
	Enter(ctx context.Context, c *rain.Campaign, user string) (store.Turn, error)
	Leave(campaign, user string, left bool)
}

// Addresses limits the guests of one address in a campaign. admission.Caps implements it.
type Addresses interface {
	// Enter returns the quota that the player shares with others; nil: only the campaign limits the player. Leave is
	// called for each connection that it has admitted.
	Enter(ctx context.Context, c *rain.Campaign, address, user string) (grab.Quota, error)
	Leave(campaign, address, user string)
}

// Connections tracks every player's connections over all nodes. presence.Connections implements it.
type Connections interface {
	// Come adds a connection; it calls Gateway.TooMany and Gateway.Among with the result. Gone removes it.
	Come(ctx context.Context, user string, n uint64, since int64)
	Gone(user string, n uint64)
}

// Problem answers a request that does not become a socket. api.WriteProblem implements it.
type Problem func(w http.ResponseWriter, status int, code, detail string)

// Options of a gateway. All are required unless stated otherwise.
type Options struct {
	Players   Players
	Campaigns Campaigns
	Gate      func(*rain.Campaign) Gate // a campaign's gate, always the same one
	Wins      Wins
	Claims    Claims
	Amounts   *rain.AmountsCache // ranks a win among all packets; nil: results have no rank
	Limits    Limits
	Banned    func(user string) bool
	// MayPlay returns an error unless a player may take part in a campaign: standing.ErrNotInvited,
	// standing.ErrDenied, or the reason for which the check failed.
	MayPlay func(ctx context.Context, c *rain.Campaign, user, address string) error
	// Ask asks the operator's own risk system about a player who says hello and whom all other checks have admitted.
	// It returns standing.ErrDenied, risk.ErrNoAnswer, or the error of storing the answer. Nil: no check.
	Ask            func(ctx context.Context, who risk.Caller) error
	Risk           *risk.Watch                   // builds tap profiles; nil: none
	Profile        func(auth.Grant) wire.Profile // display profiles; nil: masked ids only
	Door           Door
	Addresses      Addresses // nil: no limit
	Connections    Connections
	Lobby          *room.Lobby
	Counts         *live.Counts
	TapRate        int      // taps per second and player, sent in the welcome; 0: no limit
	HelloRate      float64  // refused hellos per second and address, over all nodes; 0: no limit
	Arrivals       int      // connections accepted in a second; 0: derived from the processors; below 0: no limit
	MaxConnections int      // sockets of this process; more are refused with 503
	AllowedOrigins []string // web origins that may open a socket besides the server's own; "*": all
	Problem        Problem
	Recoverer      *loop.Recoverer // nil: panics are logged only
	Clock          rain.Clock
	Log            *slog.Logger
	Registerer     prometheus.Registerer
}

// shared holds the dependencies of all sessions of a gateway.
type shared struct {
	o       Options
	metrics *metrics
	people  *people
	over    *lru.Cache[string, int64] // until when an address has too many refused hellos, Unix ms
	numbers atomic.Uint64             // of connections that have said hello
}
