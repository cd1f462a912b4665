package api

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"redrain/payout/export"
	"redrain/payout/reconcile"
	"redrain/server/campaigns"
	"redrain/server/timeout"
)

// reconciliation reconciles a campaign.
func (a *API) reconciliation(q *request) (any, error) {
	rec, err := a.o.Proofs.Campaign(q.Context(), q.id())
	return rec, unread(err)
}

// reconcileAll reconciles all books.
func (a *API) reconcileAll(q *request) (any, error) {
	books, err := a.o.Proofs.Full(q.Context(), nil)
	return books, proofRunning(err)
}

// proved answers with the times of the last reconciliations; null if this node does not know them.
func (a *API) proved(*request) (any, error) { return a.o.Proofs.Proved(), nil }

// proofRunning refuses a full reconciliation while another one is running.
func proofRunning(err error) error {
	if errors.Is(err, campaigns.ErrFullProof) {
		return refuse(http.StatusConflict, "proof_running", err.Error())
	}
	return err
}

// unread reports unreadable data in Redis, written by hand, to the operator. Other errors are returned unchanged.
func unread(err error) error {
	if errors.Is(err, reconcile.ErrLiveState) && !unavailable(err) {
		return refuse(http.StatusServiceUnavailable, "unreadable", err.Error())
	}
	return err
}

// fullLine is a line of the answer of a full reconciliation: its progress each second, and its result at the end.
type fullLine struct {
	Progress *reconcile.Progress `json:"progress,omitempty"`
	Books    *reconcile.Books    `json:"books,omitempty"`
}

// progressEvery is the interval of the lines with progress, even without progress.
const progressEvery = time.Second

// reconcileFull reconciles all books by every row, and streams its progress. It ends when the client disconnects.
func (a *API) reconcileFull(q *request) (any, error) {
	return nil, a.stream(q, "run a full reconciliation", "application/x-ndjson",
		func(ctx context.Context, to io.Writer) error {
			ctx, end := context.WithCancel(ctx)
			defer end()
			var at atomic.Pointer[reconcile.Progress]
			at.Store(&reconcile.Progress{LeftMS: -1})
			var books reconcile.Books
			proved := make(chan error, 1)
			go func() {
				proved <- a.o.Recoverer.Try("http", func() (err error) {
					books, err = a.o.Proofs.Full(ctx, func(now reconcile.Progress) { at.Store(&now) })
					return err
				})
			}()
			tick := time.NewTicker(progressEvery)
			defer tick.Stop()
			for lines := json.NewEncoder(to); ; {
				select {
				case err := <-proved:
					if err != nil {
						return proofRunning(err)
					}
					return lines.Encode(fullLine{Books: &books})
				case <-tick.C:
					if err := lines.Encode(fullLine{Progress: at.Load()}); err != nil {
						end()
						return errors.Join(err, <-proved)
					}
				}
			}
		})
}

// exports writes the ledger's data of campaigns that are over. [export.Exporter] implements it.
type exports interface {
	Check(ctx context.Context, campaign string) error // export.ErrNotOver
	Write(ctx context.Context, campaign, by string, proof any, to io.Writer) (export.Trailer, error)
}

// exportCampaign reconciles a campaign that is over, and streams it.
func (a *API) exportCampaign(q *request) (any, error) {
	c, err := a.campaignOf(q)
	if err != nil {
		return nil, err
	}
	if err := a.o.Exports.Check(q.Context(), c.ID); err != nil {
		return nil, err
	}
	_ = writeWithin(q.w, timeout.Proof+timeout.Progress) // if it fails the connection is gone, and so will the write
	proving, cancel := context.WithTimeout(q.Context(), timeout.Proof)
	defer cancel()
	proof, err := a.o.Proofs.Campaign(proving, c.ID)
	if err != nil {
		return nil, unread(err)
	}
	if !proof.Balanced {
		return nil, refuse(http.StatusConflict, "unbalanced", "the campaign's books do not balance, so it is not "+
			"exported; redrain reconcile "+c.ID+" says why")
	}
	q.attach("campaign-" + c.ID + ".jsonl.gz")
	var done export.Trailer
	err = a.stream(q, "export a campaign", "application/gzip", func(ctx context.Context, to io.Writer) (err error) {
		packed := gzip.NewWriter(to)
		if done, err = a.o.Exports.Write(ctx, c.ID, q.name, proof, packed); err != nil {
			return err
		}
		return packed.Close()
	})
	if err == nil {
		a.audit(q, "campaign.export", "campaign:"+c.ID, detail{"rows": done.Rows, "sha256": done.SHA256})
	}
	return nil, err
}
