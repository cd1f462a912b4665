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

// lobby describes the campaign that a page should open: the one that it asks for, or else the one that a person
// would want. That none is on is an answer and no fault: a page that waits for one asks again and again, and a
// browser writes each refusal in its console.
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

// wanted is the campaign with an id, or for "" the front door's; nil where there is none. Of an id it knows only
// what this node has at hand: nobody has signed in, and no stranger's guess is worth a question to the database.
func (a *API) wanted(id string) *rain.Campaign {
	if id != "" {
		return a.o.Campaigns.Cached(id)
	}
	return frontDoor(a.o.Campaigns.Live(), a.o.Demo(), a.o.Clock())
}

// startsIn is how long it is until the next rain of a campaign, in ms; 0 where none is to come, or it falls.
func startsIn(c *rain.Campaign, now int64) int64 {
	if r := c.Current(); r != nil && r.Phase(now, false) == rain.PhaseCountdown {
		return r.StartsAt - now
	}
	return 0
}

// frontDoor is the campaign that a person who comes in by the front door would want to see; nil where there is
// none. The demo rains all the time, so whatever somebody has made comes before it, or nobody would find that in a
// process with a demo.
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

// lobbyRank is how much a campaign is wanted.
type lobbyRank struct {
	class lobbyClass
	order int64 // within the class, the smaller first
}

// lobbyClass is the first thing that tells campaigns apart, the smaller being wanted more.
type lobbyClass int

const (
	rainFalls  lobbyClass = iota
	rainSoon              // the soonest first
	rainMay               // ready; the newest first
	rainsHere             // the demo
	rainPaused            // better than nothing: it may go on
)

// lobbyRankOf ranks a campaign; ok is false for one that nobody can play any more, or not yet.
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

// joinURL is the address at which a phone on the same network finds the player's page, for a big screen that was opened
// as localhost. Other callers do not learn the addresses of the machine.
//
// One that a proxy on this machine has passed on comes from this machine
// too, and may even be addressed to it; but it says that it was passed on.
func (a *API) joinURL(r *http.Request) string {
	if !isLoopback(r.RemoteAddr) || !isLoopback(r.Host) || passedOn(r.Header) {
		return ""
	}
	if lan := a.o.JoinURL(); lan != "" {
		return lan + "/"
	}
	return ""
}

// passedOn tells whether a proxy says that a request is somebody else's.
func passedOn(h http.Header) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if h.Get(name) != "" {
			return true
		}
	}
	return false
}

// isLoopback tells whether an address, with or without a port, is this machine's own.
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

// Door lets players into the rooms of campaigns that let in a certain number. [admission.Door] does.
type Door interface {
	Ask(ctx context.Context, c *rain.Campaign, user string) (store.Turn, error)
}

// hangUpAfter is the time to the next question from which on a connection is not kept for it: one that waits costs the
// node several KB, and what waits here are players by the ten thousand.
const hangUpAfter = 2 * time.Second

// admission lets a player into a campaign's room, or tells their place in the waiting room, which is kept while they
// ask in time.
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
