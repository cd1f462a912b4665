package api

import (
	"net/http"

	"redrain/internal/openapi"
	"redrain/payout/ledger/posting"
	"redrain/rain"
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
