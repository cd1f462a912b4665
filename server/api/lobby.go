package api

import (
	"context"
	"net"
	"net/http"
	"time"

	"redrain/grab/store"
	"redrain/internal/openapi"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/clientip"
)

// lobby describes the campaign that a page should open: the requested one, or else the best one. If there is none, the
// answer is still 200: a waiting page asks again and again, and a browser logs each error.
func (a *API) lobby(w http.ResponseWriter, r *http.Request, _ caller) error {
	id := r.URL.Query().Get("campaign")
	view := openapi.Lobby{Guests: a.o.Guests, Join: a.joinURL(r)}
	if c := a.wanted(id); c != nil {
		view.Campaign, view.Name, view.WinsPerUser = c.ID, c.Name, c.WinsPerUser
		view.StartsInMS = startsIn(c, a.o.Clock())
	} else if id != "" {
		return posting.ErrUnknownCampaign
	}
	return answer(w, view, nil)
}

// wanted returns the campaign with an id, or for "" the one of frontDoor; nil if there is none. It reads the cache
// only: the caller has not signed in, and a guessed id must not cost a query.
func (a *API) wanted(id string) *rain.Campaign {
	if id != "" {
		return a.o.Campaigns.Cached(id)
	}
	return frontDoor(a.o.Campaigns.Live(), a.o.Demo(), a.o.Clock())
}

// startsIn returns the time until the next rain of a campaign, in ms; 0 if none is to come or it falls.
func startsIn(c *rain.Campaign, now int64) int64 {
	if r := c.Current(); r != nil && r.Phase(now, false) == rain.PhaseCountdown {
		return r.StartsAt - now
	}
	return 0
}

// frontDoor returns the best campaign for a visitor; nil if there is none. The demo rains all the time, so any other
// campaign comes before it.
func frontDoor(live []*rain.Campaign, demo string, now int64) *rain.Campaign {
	var best *rain.Campaign
	var bestRank lobbyRank
	for _, c := range live {
		rank, ok := lobbyRankOf(c, c.ID == demo, now)
		if ok && (best == nil || rank.before(bestRank, c.ID, best.ID)) {
			best, bestRank = c, rank
		}
	}
	return best
}

// lobbyRank orders the campaigns for a visitor.
type lobbyRank struct {
	class lobbyClass
	order int64 // within the class, ascending
}

// lobbyClass is the first criterion of the order, ascending.
type lobbyClass int

const (
	rainFalls  lobbyClass = iota
	rainSoon              // the soonest first
	rainMay               // ready; the newest first
	rainsHere             // the demo
	rainPaused            // may go on
)

// lobbyRankOf ranks a campaign; ok is false if it cannot be played yet, or any more.
func lobbyRankOf(c *rain.Campaign, demo bool, now int64) (rank lobbyRank, ok bool) {
	switch {
	case now >= c.ExpiresAt:
		return rank, false
	case c.Status == rain.Paused:
		return lobbyRank{rainPaused, -c.CreatedAt}, true
	case c.Status != rain.Open:
		return rank, false
	case demo:
		return lobbyRank{rainsHere, -c.CreatedAt}, true
	}
	if r := c.Current(); r != nil {
		switch r.Phase(now, false) {
		case rain.PhaseFalling:
			return lobbyRank{rainFalls, -r.StartsAt}, true
		case rain.PhaseCountdown:
			return lobbyRank{rainSoon, r.StartsAt}, true
		}
	}
	return lobbyRank{rainMay, -c.CreatedAt}, true
}

// before breaks a tie by the ids, so that every node gives the same answer.
func (r lobbyRank) before(other lobbyRank, id, otherID string) bool {
	switch {
	case r.class != other.class:
		return r.class < other.class
	case r.order != other.order:
		return r.order < other.order
	default:
		return id < otherID
	}
}

// joinURL returns the address of the player's page for a phone on the same network, for a big screen that was opened as
// localhost. Other callers do not get the addresses of the machine.
//
// A request forwarded by a proxy on this machine comes from this machine too, but its headers show the forwarding.
func (a *API) joinURL(r *http.Request) string {
	if !isLoopback(r.RemoteAddr) || !isLoopback(r.Host) || passedOn(r.Header) {
		return ""
	}
	if lan := a.o.JoinURL(); lan != "" {
		return lan + "/"
	}
	return ""
}

// passedOn reports whether the headers show a forwarded request.
func passedOn(h http.Header) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if h.Get(name) != "" {
			return true
		}
	}
	return false
}

// isLoopback reports whether an address, with or without a port, is a loopback address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Door admits players to the rooms of campaigns with a capacity. [admission.Door] implements it.
type Door interface {
	Ask(ctx context.Context, c *rain.Campaign, user string) (store.Turn, error)
}

// hangUpAfter is the time to the next request from which a connection is not kept open. An idle one costs several KB,
// and tens of thousands of players may wait.
const hangUpAfter = 2 * time.Second

// admission admits a player to a campaign's room, or answers with the queue position. The position is kept while the
// player asks in time.
func (a *API) admission(w http.ResponseWriter, r *http.Request, who caller) error {
	id := r.URL.Query().Get("campaign")
	if id == "" {
		return rain.Invalid{{Field: "campaign", Message: "is required"}}
	}
	c, err := a.o.Campaigns.Get(r.Context(), id)
	if err != nil {
		return err
	}
	if err := a.o.MayPlay(r.Context(), c, who.user, clientip.RequestKey(r)); err != nil {
		return err
	}
	turn, err := a.o.Door.Ask(r.Context(), c, who.user)
	if err != nil {
		return err
	}
	view := openapi.Admission{Admitted: turn.Admitted}
	if !turn.Admitted {
		view.Position, view.RetryAfterMS = turn.Position, turn.Retry.Milliseconds()
		view.WaitMS = max(0, turn.Wait.Milliseconds())
		w.Header().Set("Retry-After", retryAfter(turn.Retry))
		if turn.Retry >= hangUpAfter {
			w.Header().Set("Connection", "close")
		}
	}
	return answer(w, view, nil)
}
