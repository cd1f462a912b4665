package api

import (
	"errors"
	"net/http"

	"redrain/payout/reconcile"
)

// reconciliation answers where a campaign's money is.
func (a *API) reconciliation(w http.ResponseWriter, r *http.Request, _ caller) error {
	rec, err := a.o.Proofs.Campaign(r.Context(), r.PathValue("id"))
	return answer(w, rec, unread(err))
}

// reconcileAll answers whether all books balance, by what is recent.
func (a *API) reconcileAll(w http.ResponseWriter, r *http.Request, _ caller) error {
	books, err := a.o.Proofs.Recent(r.Context())
	return answer(w, books, err)
}

// proved answers when the books were proved last, without proving them; null where this node does not know.
func (a *API) proved(w http.ResponseWriter, _ *http.Request, _ caller) error {
	return answer(w, a.o.Proofs.Proved(), nil)
}

// unread tells an operator what Redis has that makes no sense: somebody has written there by hand. A Redis that
// does not answer is as everywhere.
func unread(err error) error {
	if errors.Is(err, reconcile.ErrHot) && !unavailable(err) {
		return refuse(http.StatusServiceUnavailable, "unreadable", err.Error())
	}
	return err
}
