package api

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"

	"redrain/payout/export"
	"redrain/payout/reconcile"
	"redrain/server/timeout"
)

// exports writes the ledger's data of campaigns that are over. [export.Exporter] implements it.
type exports interface {
	Check(ctx context.Context, campaign string) error // export.ErrNotOver
	Write(ctx context.Context, campaign, by string, proof any, to io.Writer) (export.Trailer, error)
}

// exportCampaign reconciles a campaign that is over, and streams it. After an error the header is sent already, so the
// answer is cut off.
func (a *API) exportCampaign(w http.ResponseWriter, r *http.Request, who caller) error {
	c, err := a.campaignOf(r)
	if err != nil {
		return err
	}
	if err := a.o.Exports.Check(r.Context(), c.ID); err != nil {
		return err
	}
	_ = writeWithin(w, timeout.Proof+timeout.Progress) // if it fails the connection is gone, and so will the write
	proof, err := a.proofOf(r.Context(), c.ID)
	if err != nil {
		return err
	}
	if !proof.Balanced {
		return refuse(http.StatusConflict, "unbalanced", "the campaign's books do not balance, so it is not exported; "+
			"redrain reconcile "+c.ID+" says why")
	}
	w.Header().Set("Content-Type", "application/gzip")
	w.Header().Set("Content-Disposition", `attachment; filename="campaign-`+c.ID+`.jsonl.gz"`)
	ctx, writer, stop := streaming(r.Context(), w)
	defer stop()
	var done export.Trailer
	err = a.o.Recoverer.Try("http", func() (err error) {
		packed := gzip.NewWriter(writer)
		if done, err = a.o.Exports.Write(ctx, c.ID, who.name, proof, packed); err != nil {
			return err
		}
		return packed.Close()
	})
	if err != nil {
		a.o.Log.Warn("export a campaign; the answer was cut off", "campaign", c.ID, "err", err)
		return errCut
	}
	a.audit(r, who, "campaign.export", "campaign:"+c.ID, map[string]any{"rows": done.Rows, "sha256": done.SHA256})
	return nil
}

// proofOf reconciles a campaign, within timeout.Proof.
func (a *API) proofOf(ctx context.Context, id string) (reconcile.Reconciliation, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Proof)
	defer cancel()
	proof, err := a.o.Proofs.Campaign(ctx, id)
	return proof, unread(err)
}
