package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/rain"
)

const (
	// maxSearch is how many bytes one may search for, and maxWords in how many words: each costs a look at each row.
	maxSearch = 200
	maxWords  = 8
)

// campaigns lists campaigns: those that are asked for, in the order that is asked for.
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

// campaignQueryOf reads which campaigns a request wants.
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
