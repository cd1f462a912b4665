package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"redrain/payout/reconcile"
	"redrain/server/campaigns"
)

// reconciliation reconciles a campaign.
func (a *API) reconciliation(w http.ResponseWriter, r *http.Request, _ caller) error {
	rec, err := a.o.Proofs.Campaign(r.Context(), r.PathValue("id"))
	return answer(w, rec, unread(err))
}

// reconcileAll reconciles all books.
func (a *API) reconcileAll(w http.ResponseWriter, r *http.Request, _ caller) error {
	books, err := a.o.Proofs.Full(r.Context(), nil)
	if err != nil {
		return proofRunning(err)
	}
	return answer(w, books, nil)
}

// proved answers with the times of the last reconciliations; null if this node does not know them.
func (a *API) proved(w http.ResponseWriter, _ *http.Request, _ caller) error {
	return answer(w, a.o.Proofs.Proved(), nil)
}

// proofRunning refuses a full reconciliation while another one is running.
func proofRunning(err error) error {
	if errors.Is(err, campaigns.ErrFullProof) {
		return refuse(http.StatusConflict, "proof_running", err.Error())
	}
	return err
}

// unread reports unreadable data in Redis, written by hand, to the operator. Other errors are returned unchanged.
func unread(err error) error {
	if errors.Is(err, reconcile.ErrHot) && !unavailable(err) {
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

// reconcileFull reconciles all books by every row, and streams its progress. It ends when the client disconnects. After
// the first second the header is sent, so an error cuts the answer off.
func (a *API) reconcileFull(w http.ResponseWriter, r *http.Request, _ caller) error {
	ctx, out, stop := streaming(r.Context(), w)
	defer stop()
	var at atomic.Pointer[reconcile.Progress]
	at.Store(&reconcile.Progress{LeftMS: -1})
	type proof struct {
		books reconcile.Books
		err   error
	}
	proved := make(chan proof, 1)
	ctx, end := context.WithCancel(ctx)
	go func() {
		var p proof
		p.err = a.o.Recoverer.Try("http", func() (err error) {
			p.books, err = a.o.Proofs.Full(ctx, func(now reconcile.Progress) { at.Store(&now) })
			return err
		})
		proved <- p
	}()
	wait := func() proof { end(); return <-proved }
	defer end()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	lines := json.NewEncoder(out)
	begun := false
	say := func(line fullLine) error {
		if !begun {
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("X-Accel-Buffering", "no")
			begun = true
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
		return http.NewResponseController(w).Flush()
	}
	for {
		select {
		case p := <-proved:
			if p.err == nil {
				return say(fullLine{Books: &p.books})
			}
			if begun {
				a.o.Log.Warn("run a full reconciliation; the answer was cut off", "err", p.err)
				return errCut
			}
			return proofRunning(p.err)
		case <-tick.C:
			if err := say(fullLine{Progress: at.Load()}); err != nil {
				wait()
				return nil // the reader is gone
			}
		}
	}
}
