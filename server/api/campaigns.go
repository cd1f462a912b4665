package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"redrain/client/openapi"
	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/campaigns"
	"redrain/server/history"
)

// stateUnreadable is the state of a campaign with an invalid row in the database.
const stateUnreadable = "unreadable"

// viewOf returns a campaign as operators see it: its terms and its state.
func viewOf(c *rain.Campaign, now int64) openapi.Campaign {
	v := openapi.Campaign{
		ID: c.ID, CampaignTerms: c.Spec, State: stateUnreadable, CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt,
		Revision: c.Revision, Rains: []openapi.Rain{}, Fault: c.Fault,
	}
	if c.Fault != "" { // nothing may be computed from its rains
		return v
	}
	v.State = c.State(now)
	for i := range c.Rains {
		v.Rains = append(v.Rains, *wire.RainOf(&c.Rains[i], now, c.Status == rain.Paused))
	}
	return v
}

func (a *API) createCampaign(q *request) (any, error) {
	spec, err := bodyOf(q, rain.DefaultSpec())
	if err != nil {
		return nil, err
	}
	spec.Complete()
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	return as(a.newCampaign)(a.o.Commands.Create(q.audited("campaign.create", nil), spec, q.key))
}

func (a *API) newCampaign(c *rain.Campaign) reply { return created(a.viewNow(c)) }

// viewNow returns viewOf for the current time.
func (a *API) viewNow(c *rain.Campaign) openapi.Campaign { return viewOf(c, a.o.Clock()) }

// campaignOf returns the campaign of a request's path.
func (a *API) campaignOf(q *request) (*rain.Campaign, error) {
	return a.o.Campaigns.Get(q.Context(), q.id())
}

func (a *API) campaign(q *request) (any, error) {
	c, err := a.campaignOf(q)
	if err != nil {
		return nil, err
	}
	v := a.viewNow(c)
	v.DroppedAt, err = a.o.Claims.RemovedAt(q.Context(), c.ID)
	return v, err
}

// command returns a handler of an operator's command that takes no body and answers with the campaign.
func (a *API) command(
	name string,
	do func(c *campaigns.Service, ctx context.Context, id string) (*rain.Campaign, error),
) handler {
	return func(q *request) (any, error) {
		return as(a.viewNow)(do(a.o.Commands, q.audited("campaign."+name, nil), q.id()))
	}
}

func (a *API) stats(q *request) (any, error) {
	c, err := a.campaignOf(q)
	if err != nil {
		return nil, err
	}
	return a.o.Stats.Stats(q.Context(), c)
}

// rebuild restores the shards of a campaign that Redis has lost.
func (a *API) rebuild(q *request) (any, error) {
	done, err := a.o.Rebuilder.Rebuild(q.Context(), q.id())
	if len(done.Shards) > 0 { // also with an error: these shards are restored
		a.audit(q, "campaign.rebuild", "campaign:"+done.Campaign,
			detail{"shards": done.Shards, "packets": done.Packets, "wins": done.Wins})
	}
	return done, err
}

func (a *API) startRain(q *request) (any, error) {
	spec, err := bodyOf(q, rain.DefaultRain())
	if err != nil {
		return nil, err
	}
	if err := spec.Validate(a.o.Clock()); err != nil {
		return nil, err
	}
	c, rn, err := a.o.Commands.StartRain(q.audited("rain.start", nil), q.id(), spec, q.key)
	if err != nil {
		return nil, err
	}
	return created(wire.RainOf(rn, a.o.Clock(), c.Status == rain.Paused)), nil
}

func (a *API) stopRain(q *request) (any, error) {
	id := q.PathValue("rain")
	c, rn, err := a.o.Commands.StopRain(q.audited("rain.stop", detail{"rain": id}), q.id(), id)
	if err != nil {
		return nil, err
	}
	return wire.RainOf(rn, a.o.Clock(), c.Status == rain.Paused), nil
}

// fairness answers with the means to check a rain: its commitment, and after its end the seed and the digest of its
// drops.
func (a *API) fairness(q *request) (any, error) {
	c, err := a.campaignOf(q)
	if err != nil {
		return nil, err
	}
	rn, err := c.Rain(q.PathValue("rain"))
	if err != nil {
		return nil, err
	}
	v := openapi.Fairness{Commitment: rn.Seed.Commitment(), Schedule: openapi.Schedule{
		Rain: rn.ID, Campaign: c.ID, StartsAt: rn.StartsAt, RainSettings: rn.Settings, FirstWave: rn.FirstWave,
		Waves: rn.Waves(), Drops: rn.Drops(),
	}}
	v.Schedule.OddsRecord, v.Schedule.GuestsOddsRecord = rn.OddsRecord.Lists()
	// Not before the last tap is decided: within the grace a drop can still be tapped.
	if now := a.o.Clock(); now >= rn.EndsAt() && now >= rn.TapsUntil() {
		v.Seed, v.Schedule.Digest = rn.Seed.Hex(), rn.Digest()
	}
	return v, nil
}

const (
	// maxSearch is the length limit of a search, in bytes, and maxWords the limit of its words: each is compared with
	// every row.
	maxSearch = 200
	maxWords  = 8
)

// campaigns lists the requested campaigns in the requested order.
func (a *API) campaigns(q *request) (any, error) {
	now := a.o.Clock()
	query, err := campaignQueryOf(q.URL.Query())
	if err != nil {
		return nil, err
	}
	return listed(q, func(ctx context.Context, cursor string, limit int) ([]*rain.Campaign, string, error) {
		query.Now, query.After, query.Limit = now, cursor, limit
		return a.o.History.ListCampaigns(ctx, query)
	}, func(c *rain.Campaign) openapi.Campaign { return viewOf(c, now) })
}

// campaignQueryOf parses the query of a list of campaigns.
func campaignQueryOf(query url.Values) (q ledger.CampaignQuery, err error) {
	var wrong faults
	text := query.Get("q")
	q = ledger.CampaignQuery{Words: strings.Fields(text), Sponsor: query.Get("sponsor"), State: query.Get("state"),
		Order: cmp.Or(ledger.CampaignOrder(query.Get("sort")), ledger.ByCreation)}
	wrong.check(len(text) <= maxSearch && len(q.Words) <= maxWords && utf8.ValidString(text), "q",
		"is at most %d words, %d bytes of UTF-8", maxWords, maxSearch)
	wrong.check(len(q.Sponsor) <= maxSearch && utf8.ValidString(q.Sponsor), "sponsor", "is the id of a sponsor")
	states := []string{"", string(rain.Loading), rain.StateReady, rain.StateRaining, string(rain.Paused),
		string(rain.Closed)}
	wrong.check(slices.Contains(states, q.State), "state", "is loading, ready, raining, paused or closed")
	wrong.check(slices.Contains(ledger.CampaignOrders(), q.Order), "sort", "is created, expires, name or budget")
	order := query.Get("order")
	wrong.check(slices.Contains([]string{"", "asc", "desc"}, order), "order", "is asc or desc")
	q.Upwards = order == "asc"
	return q, wrong.err()
}

// errPreviewsBusy means that a preview has waited in vain.
var errPreviewsBusy = refuse(http.StatusServiceUnavailable, "unavailable", "other previews are in progress; try again")

// previewSplit computes a split like that of a campaign, from a new seed, and answers with its figures. It stores
// nothing. A process computes one at a time: the largest takes 80 MB.
func (a *API) previewSplit(q *request) (any, error) {
	split, err := bodyOf(q, rain.DefaultSplit())
	if err != nil {
		return nil, err
	}
	if err := split.Validate(); err != nil {
		return nil, err
	}
	if a.previews.Acquire(q.Context(), 1) != nil {
		return nil, errPreviewsBusy
	}
	defer a.previews.Release(1)
	return as(rain.Describe)(split.Cut(campaigns.NewSeed()))
}

const (
	// historyMS and historyPoints are the default length of a history and its number of points.
	historyMS, historyPoints = 15 * 60 * 1_000, 900
	// maxPoints is the most points of an answer.
	maxPoints = 2_000
)

func (a *API) history(q *request) (any, error) {
	c, err := a.campaignOf(q)
	if err != nil {
		return nil, err
	}
	from, to, points, err := rangeOf(q, a.o.Clock())
	if err != nil {
		return nil, err
	}
	const second = 1_000
	span := (to-from+points-1)/points + second - 1
	rows, err := a.o.Figures.Read(q.Context(), c.ID, from, to, span-span%second)
	return historyOf(from, to, rows), err
}

// rangeOf parses the range of a request for a history.
func rangeOf(q *request, now int64) (from, to, points int64, err error) {
	var wrong faults
	number := func(name string, usual, least, most int64) int64 {
		s := q.query(name)
		if s == "" {
			return usual
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least || n > most {
			wrong.check(false, name, "is %d to %d", least, most)
			return usual
		}
		return n
	}
	const latest = 1 << 52 // later than any real time, and no sum of two overflows
	to = number("to", now, 0, latest)
	from = number("from", max(to-historyMS, 0), 0, max(to-1, 0))
	points = number("points", historyPoints, 1, maxPoints)
	return from, to, points, wrong.err()
}

// historyOf returns figures for a chart: a column each.
func historyOf(from, to int64, rows []history.Row) openapi.History {
	n := len(rows)
	v := openapi.History{From: from, To: to, T: make([]int64, n), SpanMS: make([]int64, n), Online: make([]int64, n),
		Waiting: make([]int64, n), GrabsPerSecond: make([]int64, n), TapP50MS: make([]*float64, n),
		TapP99MS: make([]*float64, n),
		Taps:     make([]int64, n), Won: make([]int64, n), Paid: make([]int64, n), Stock: make([]int64, n),
		Empty: make([]int64, n), Late: make([]int64, n)}
	for i, r := range rows {
		v.T[i], v.SpanMS[i], v.Online[i], v.Waiting[i] = r.At, r.SpanMS, r.Online, r.Waiting
		v.GrabsPerSecond[i] = r.Grabs
		v.TapP50MS[i], v.TapP99MS[i] = milliseconds(r.P50), milliseconds(r.P99)
		v.Taps[i], v.Won[i], v.Paid[i], v.Stock[i], v.Empty[i], v.Late[i] = r.Taps, r.Won, r.Paid, r.Stock, r.Empty,
			r.Late
	}
	return v
}

// milliseconds returns nil for 0, which means no taps.
func milliseconds(us int64) *float64 {
	if us == 0 {
		return nil
	}
	ms := float64(us) / 1_000
	return &ms
}
