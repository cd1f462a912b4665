package api

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"time"

	"redrain/client/openapi"
	"redrain/grab/store"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/clientip"
)

// lobby describes the campaign that a page should open: the requested one, or else the best one. If there is none, the
// answer is still 200: a waiting page asks again and again, and a browser logs each error.
func (a *API) lobby(q *request) (any, error) {
	id := q.query("campaign")
	view := openapi.Lobby{Guests: a.o.Guests, Names: a.o.ShowNames, Join: a.joinURL(q.Request),
		Logins: a.o.Accounts.names()}
	if c := a.wanted(id); c != nil {
		view.Campaign, view.Name, view.WinsPerUser = c.ID, c.Name, c.WinsPerUser
		view.StartsInMS = startsIn(c, a.o.Clock())
	} else if id != "" {
		return nil, posting.ErrUnknownCampaign
	}
	return view, nil
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
// campaign comes before it. The ids break a tie, so that every node gives the same answer.
func frontDoor(live []*rain.Campaign, demo string, now int64) *rain.Campaign {
	open := slices.DeleteFunc(slices.Clone(live), func(c *rain.Campaign) bool {
		return now >= c.ExpiresAt || c.Status != rain.Open && c.Status != rain.Paused
	})
	if len(open) == 0 {
		return nil
	}
	return slices.MinFunc(open, func(x, y *rain.Campaign) int {
		xClass, xOrder := lobbyRankOf(x, x.ID == demo, now)
		yClass, yOrder := lobbyRankOf(y, y.ID == demo, now)
		return cmp.Or(cmp.Compare(xClass, yClass), cmp.Compare(xOrder, yOrder), cmp.Compare(x.ID, y.ID))
	})
}

// lobbyClass is the first criterion of the order, ascending.
type lobbyClass int

const (
	rainFalls  lobbyClass = iota // the newest first, as in all classes but rainSoon
	rainSoon                     // the soonest first
	rainMay                      // ready
	rainsHere                    // the demo
	rainPaused                   // may go on
)

// lobbyRankOf ranks an open or paused campaign. order is the second criterion, ascending.
func lobbyRankOf(c *rain.Campaign, demo bool, now int64) (class lobbyClass, order int64) {
	switch r := c.Current(); {
	case c.Status == rain.Paused:
		return rainPaused, -c.CreatedAt
	case demo:
		return rainsHere, -c.CreatedAt
	case r == nil:
	case r.Phase(now, false) == rain.PhaseFalling:
		return rainFalls, -r.StartsAt
	case r.Phase(now, false) == rain.PhaseCountdown:
		return rainSoon, r.StartsAt
	}
	return rainMay, -c.CreatedAt
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
	return cmp.Or(h.Get("Forwarded"), h.Get("X-Forwarded-For"), h.Get("X-Real-IP"), h.Get("Via")) != ""
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
func (a *API) admission(q *request) (any, error) {
	id := q.query("campaign")
	if id == "" {
		return nil, invalid("campaign", "is required")
	}
	c, err := a.o.Campaigns.Get(q.Context(), id)
	if err != nil {
		return nil, err
	}
	if err := a.o.MayPlay(q.Context(), c, q.user, clientip.RequestKey(q.Request)); err != nil {
		return nil, err
	}
	turn, err := a.o.Door.Ask(q.Context(), c, q.user)
	if err != nil || turn.Admitted {
		return openapi.Admission{Admitted: true}, err
	}
	q.w.Header().Set("Retry-After", retryAfter(turn.Retry))
	if turn.Retry >= hangUpAfter {
		q.w.Header().Set("Connection", "close")
	}
	return openapi.Admission{Position: turn.Position, RetryAfterMS: turn.Retry.Milliseconds(),
		WaitMS: max(0, turn.Wait.Milliseconds())}, nil
}
