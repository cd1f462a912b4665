package api

import (
	"context"
	"fmt"
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
	var faults rain.Invalid
	wrong := func(field, message string) { faults = append(faults, rain.FieldError{Field: field, Message: message}) }
	text := query.Get("q")
	q = ledger.CampaignQuery{Words: strings.Fields(text), Sponsor: query.Get("sponsor"), State: query.Get("state"),
		Order: ledger.CampaignOrder(query.Get("sort"))}
	if q.Order == "" {
		q.Order = ledger.ByCreation
	}
	if len(text) > maxSearch || len(q.Words) > maxWords || !utf8.ValidString(text) {
		wrong("q", fmt.Sprintf("is at most %d words, %d bytes of UTF-8", maxWords, maxSearch))
	}
	if len(q.Sponsor) > maxSearch || !utf8.ValidString(q.Sponsor) {
		wrong("sponsor", "is the id of a sponsor")
	}
	states := []string{"", string(rain.Loading), rain.StateReady, rain.StateRaining, string(rain.Paused),
		string(rain.Closed)}
	if !slices.Contains(states, q.State) {
		wrong("state", "is loading, ready, raining, paused or closed")
	}
	if !slices.Contains(ledger.CampaignOrders(), q.Order) {
		wrong("sort", "is created, expires, name or budget")
	}
	switch query.Get("order") {
	case "asc":
		q.Upwards = true
	case "", "desc":
	default:
		wrong("order", "is asc or desc")
	}
	if len(faults) > 0 {
		return q, faults
	}
	return q, nil
}
