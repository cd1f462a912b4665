package api

import (
	"context"
	"errors"
	"net/http"

	"redrain/rain"
	"redrain/server/campaigns"
)

// previewsAtOnce is how many splits a process cuts for a look at the same time: the largest takes 80 MB.
const previewsAtOnce = 1

// previews lets so many requests at a time cut a split for a look; the others wait for their turn.
type previews chan struct{}

func newPreviews() previews { return make(previews, previewsAtOnce) }

// errPreviewsBusy is a preview whose turn has not come.
var errPreviewsBusy = refuse(http.StatusServiceUnavailable, "unavailable", "other previews are being made; try again")

// previewSplit cuts a split as a campaign's would be, from a seed of its own, and tells what came out. Nothing is kept.
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

// gone is why a preview ends: the client has gone, or has waited long enough.
func gone(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errPreviewsBusy
	}
	return ctx.Err()
}
