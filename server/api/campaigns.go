package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"redrain/internal/openapi"
	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/campaigns"
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

func (a *API) createCampaign(r *http.Request, who caller, body []byte, key string) (int, any, error) {
	spec := rain.DefaultSpec()
	if err := decode(body, &spec); err != nil {
		return 0, nil, err
	}
	spec.Complete()
	if err := spec.Validate(); err != nil {
		return 0, nil, err
	}
	c, err := a.o.Commands.Create(a.audited(r, who, "campaign.create", nil), spec, key)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, a.viewNow(c), nil
}

// viewNow returns viewOf for the current time.
func (a *API) viewNow(c *rain.Campaign) openapi.Campaign { return viewOf(c, a.o.Clock()) }

// campaignOf returns the campaign of a request's path.
func (a *API) campaignOf(r *http.Request) (*rain.Campaign, error) {
	return a.o.Campaigns.Get(r.Context(), r.PathValue("id"))
}

func (a *API) campaign(w http.ResponseWriter, r *http.Request, _ caller) error {
	c, err := a.campaignOf(r)
	if err != nil {
		return err
	}
	v := viewOf(c, a.o.Clock())
	v.DroppedAt, err = a.o.Claims.DroppedAt(r.Context(), c.ID)
	return answer(w, v, err)
}

// command returns a handler of an operator's command that takes no body and answers with the campaign.
func (a *API) command(
	name string,
	do func(c *campaigns.Service, ctx context.Context, id string) (*rain.Campaign, error),
) handler {
	return func(w http.ResponseWriter, r *http.Request, who caller) error {
		c, err := do(a.o.Commands, a.audited(r, who, "campaign."+name, nil), r.PathValue("id"))
		return answerAs(w, c, err, a.viewNow)
	}
}

func (a *API) stats(w http.ResponseWriter, r *http.Request, _ caller) error {
	c, err := a.campaignOf(r)
	if err != nil {
		return err
	}
	s, err := a.o.Stats.Stats(r.Context(), c)
	return answer(w, s, err)
}

// rebuild restores the shards of a campaign that Redis has lost.
func (a *API) rebuild(w http.ResponseWriter, r *http.Request, who caller) error {
	done, err := a.o.Rebuilder.Rebuild(r.Context(), r.PathValue("id"))
	if len(done.Shards) > 0 { // also with an error: these shards are restored
		a.audit(r, who, "campaign.rebuild", "campaign:"+done.Campaign,
			map[string]any{"shards": done.Shards, "packets": done.Packets, "wins": done.Wins})
	}
	return answer(w, done, err)
}

func (a *API) startRain(r *http.Request, who caller, body []byte, key string) (int, any, error) {
	spec := rain.DefaultRain()
	if err := decode(body, &spec); err != nil {
		return 0, nil, err
	}
	if err := spec.Validate(a.o.Clock()); err != nil {
		return 0, nil, err
	}
	c, rn, err := a.o.Commands.StartRain(a.audited(r, who, "rain.start", nil), r.PathValue("id"), spec, key)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, wire.RainOf(rn, a.o.Clock(), c.Status == rain.Paused), nil
}

func (a *API) stopRain(w http.ResponseWriter, r *http.Request, who caller) error {
	c, rn, err := a.o.Commands.StopRain(a.audited(r, who, "rain.stop", map[string]any{"rain": r.PathValue("rain")}),
		r.PathValue("id"), r.PathValue("rain"))
	if err != nil {
		return err
	}
	return answer(w, wire.RainOf(rn, a.o.Clock(), c.Status == rain.Paused), nil)
}

// fairness answers with the means to check a rain: its commitment, and after its end the seed and the digest of its
// drops.
func (a *API) fairness(w http.ResponseWriter, r *http.Request, _ caller) error {
	c, err := a.campaignOf(r)
	if err != nil {
		return err
	}
	rn, err := c.Rain(r.PathValue("rain"))
	if err != nil {
		return err
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
	return answer(w, v, nil)
}

const (
	// maxSearch is the length limit of a search, in bytes, and maxWords the limit of its words: each is compared with
	// every row.
	maxSearch = 200
	maxWords  = 8
)

// campaigns lists the requested campaigns in the requested order.
func (a *API) campaigns(w http.ResponseWriter, r *http.Request, _ caller) error {
	now := a.o.Clock()
	q, err := campaignQueryOf(r.URL.Query())
	if err != nil {
		return err
	}
	return answerList(w, r, func(ctx context.Context, cursor string, limit int) ([]*rain.Campaign, string, error) {
		q.Now, q.After, q.Limit = now, cursor, limit
		return a.o.History.ListCampaigns(ctx, q)
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

// previewsAtOnce is the number of previews that a process computes at the same time: the largest takes 80 MB.
const previewsAtOnce = 1

// previews is a semaphore of the running previews.
type previews chan struct{}

func newPreviews() previews { return make(previews, previewsAtOnce) }

// errPreviewsBusy means that a preview has waited in vain for the semaphore.
var errPreviewsBusy = refuse(http.StatusServiceUnavailable, "unavailable", "other previews are in progress; try again")

// previewSplit computes a split like that of a campaign, from a new seed, and answers with its figures. It stores
// nothing.
func (a *API) previewSplit(w http.ResponseWriter, r *http.Request, who caller) error {
	split, err := bodyOf(w, r, who, rain.DefaultSplit())
	if err != nil {
		return err
	}
	if err := split.Validate(); err != nil {
		return err
	}
	summary, err := a.previews.make(r.Context(), &split)
	return answer(w, summary, err)
}

func (p previews) make(ctx context.Context, split *rain.SplitSpec) (rain.SplitSummary, error) {
	select {
	case p <- struct{}{}:
		defer func() { <-p }()
	case <-ctx.Done():
		return rain.SplitSummary{}, gone(ctx)
	}
	amounts, err := split.Cut(campaigns.NewSeed())
	if err != nil {
		return rain.SplitSummary{}, err
	}
	if ctx.Err() != nil {
		return rain.SplitSummary{}, gone(ctx)
	}
	return rain.Describe(amounts), nil
}

// gone returns the error of a preview whose client is gone, or has waited too long.
func gone(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errPreviewsBusy
	}
	return ctx.Err()
}
