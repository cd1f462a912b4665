package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"redrain/client/openapi"
	"redrain/internal/wire"
	"redrain/rain"
)

// CreateCampaign funds and stocks a campaign. If an idempotency key was used before, it returns the first answer; "" is
// no key.
func (c *Client) CreateCampaign(ctx context.Context, spec rain.Spec, key string) (Campaign, error) {
	return call[Campaign](ctx, c, request{
		method: http.MethodPost, path: path("campaigns"), body: spec, key: key, timeout: createTimeout,
	})
}

// PreviewSplit computes a split with a new seed, and summarizes the amounts.
func (c *Client) PreviewSplit(ctx context.Context, split rain.SplitSpec) (rain.SplitSummary, error) {
	return call[rain.SplitSummary](ctx, c, request{
		method: http.MethodPost, path: path("splits", "preview"), body: split, timeout: createTimeout,
	})
}

// Campaigns returns a page of the campaigns.
func (c *Client) Campaigns(ctx context.Context, p Page) (List[Campaign], error) {
	return Pages[Campaign](c, nil, "campaigns")(ctx, p)
}

// Campaign returns one campaign.
func (c *Client) Campaign(ctx context.Context, id string) (Campaign, error) {
	return Get[Campaign](ctx, c, "campaigns", id)
}

// Pause refuses the campaign's taps until Resume.
func (c *Client) Pause(ctx context.Context, id string) (Campaign, error) {
	return Post[Campaign](ctx, c, nil, "campaigns", id, "pause")
}

// Resume undoes Pause.
func (c *Client) Resume(ctx context.Context, id string) (Campaign, error) {
	return Post[Campaign](ctx, c, nil, "campaigns", id, "resume")
}

// CloseCampaign ends the campaign and its rain. The rest returns to the sponsor.
func (c *Client) CloseCampaign(ctx context.Context, id string) (Campaign, error) {
	return Post[Campaign](ctx, c, nil, "campaigns", id, "close")
}

// StartRain schedules a rain. The key is as in CreateCampaign.
func (c *Client) StartRain(ctx context.Context, id string, spec rain.RainSpec, key string) (wire.Rain, error) {
	return call[wire.Rain](ctx, c, request{method: http.MethodPost, path: path("campaigns", id, "rains"), body: spec,
		key: key})
}

// StopRain ends a rain now.
func (c *Client) StopRain(ctx context.Context, id, rainID string) (wire.Rain, error) {
	return Post[wire.Rain](ctx, c, nil, "campaigns", id, "rains", rainID, "stop")
}

// Rebuild restores the campaign's shards that Redis has lost. It can be repeated.
func (c *Client) Rebuild(ctx context.Context, id string) (openapi.Rebuilt, error) {
	return call[openapi.Rebuilt](ctx, c, request{method: http.MethodPost, path: path("campaigns", id, "rebuild"),
		timeout: rebuildTimeout})
}

// Stats returns the campaign's current figures.
func (c *Client) Stats(ctx context.Context, id string) (Stats, error) {
	return Get[Stats](ctx, c, "campaigns", id, "stats")
}

// ExportCampaign copies the ledger's data of a campaign that is over to w, as a gzip file.
func (c *Client) ExportCampaign(ctx context.Context, id string, w io.Writer) error {
	resp, done, err := c.send(ctx, request{method: http.MethodGet, path: path("campaigns", id, "export"),
		accept: "application/gzip", timeout: -1})
	if err != nil {
		return err
	}
	defer done()
	_, err = io.Copy(w, resp.Body)
	return err
}

// Reconciliation reconciles the campaign.
func (c *Client) Reconciliation(ctx context.Context, id string) (Reconciliation, error) {
	return call[Reconciliation](ctx, c, request{method: http.MethodGet, path: path("campaigns", id, "reconciliation"),
		timeout: reconcileTimeout})
}

// ReconcileFull reconciles all books by every row. It calls progress about once a second; progress may be nil. Only ctx
// limits its time.
func (c *Client) ReconcileFull(ctx context.Context, progress func(openapi.ProofProgress)) (openapi.Books, error) {
	resp, done, err := c.send(ctx, request{method: http.MethodGet, path: path("reconciliation", "full"), timeout: -1})
	if err != nil {
		return openapi.Books{}, err
	}
	defer done()
	for lines := json.NewDecoder(resp.Body); ; {
		var line openapi.FullProofLine
		switch err := lines.Decode(&line); {
		case err != nil:
			return openapi.Books{}, fmt.Errorf("the full proof was cut off, so nothing is proved; the server's log "+
				"says "+
				"why: %w", err)
		case line.Books != nil:
			return *line.Books, nil
		case line.Progress != nil && progress != nil:
			progress(*line.Progress)
		}
	}
}

// Fairness returns the commitment of a rain and, after its end, its seed.
func (c *Client) Fairness(ctx context.Context, id, rainID string) (Fairness, error) {
	return Get[Fairness](ctx, c, "campaigns", id, "rains", rainID, "fairness")
}
