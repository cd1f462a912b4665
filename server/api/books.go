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

// reconciliation answers where a campaign's money is.
func (a *API) reconciliation(w http.ResponseWriter, r *http.Request, _ caller) error {
	rec, err := a.o.Proofs.Campaign(r.Context(), r.PathValue("id"))
	return answer(w, rec, unread(err))
}

// reconcileAll answers whether all books balance.
func (a *API) reconcileAll(w http.ResponseWriter, r *http.Request, _ caller) error {
	books, err := a.o.Proofs.Full(r.Context(), nil)
	if err != nil {
		return proofRunning(err)
	}
	return answer(w, books, nil)
}

// proved answers when the books were proved last, without proving them; null where this node does not know.
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

// unread tells an operator what Redis has that makes no sense: somebody has written there by hand. A Redis that
// does not answer is as everywhere.
func unread(err error) error {
	if errors.Is(err, reconcile.ErrHot) && !unavailable(err) {
		return refuse(http.StatusServiceUnavailable, "unreadable", err.Error())
	}
	return err
}

// fullLine is a line of the answer of a full proof: first how far it has come, each second, and at last what it found.
type fullLine struct {
	Progress *reconcile.Progress `json:"progress,omitempty"`
	Books    *reconcile.Books    `json:"books,omitempty"`
}

// tellEvery is how often a full proof says how far it has come, whether it has come any further or not.
const tellEvery = time.Second

// reconcileFull proves all books by every row, and tells how far it has come. It ends when who has asked for it goes
// away. Where it fails later than in its first second the header is out, so the answer is cut.
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
	tick := time.NewTicker(tellEvery)
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
				a.o.Log.Warn("a full proof was cut off", "err", p.err)
				return errCut
			}
			return proofRunning(p.err)
		case <-tick.C:
			if err := say(fullLine{Progress: at.Load()}); err != nil {
				wait()
				return nil // the reader has gone
			}
		}
	}
}
