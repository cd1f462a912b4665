package cli

import (
	"context"
	"time"

	"redrain/client"
	"redrain/internal/wire"
)

// glance is a campaign's figures at one moment.
type glance struct {
	At       int64      `json:"at"` // Unix milliseconds of this machine
	Campaign string     `json:"campaign"`
	State    string     `json:"state"`
	Rain     *wire.Rain `json:"rain"` // the newest
	client.Stats
	name string
}

// over tells whether nothing will change any more: the campaign is closed and each win is paid.
func (g glance) over() bool { return g.State == "closed" && g.Paid >= g.Won }

// look reads the figures of a campaign.
func look(ctx context.Context, api *client.Client, id string) (glance, error) {
	campaign, err := api.Campaign(ctx, id)
	if err != nil {
		return glance{}, err
	}
	stats, err := api.Stats(ctx, id)
	if err != nil {
		return glance{}, err
	}
	g := glance{At: time.Now().UnixMilli(), Campaign: id, State: campaign.State, Stats: stats, name: campaign.Name}
	if n := len(campaign.Rains); n > 0 {
		g.Rain = &campaign.Rains[n-1]
	}
	return g, nil
}
