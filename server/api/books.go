package api

import (
	"errors"
	"net/http"

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
