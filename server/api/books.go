package api

import (
	"errors"
	"net/http"

	"redrain/payout/reconcile"
)

// reconciliation answers where a campaign's money is.
func (a *API) reconciliation(w http.ResponseWriter, r *http.Request, _ caller) error {
	rec, err := a.o.Proofs.Campaign(r.Context(), r.PathValue("id"))
	if err != nil {
		return unread(err)
	}
	WriteJSON(w, http.StatusOK, rec)
	return nil
}

// reconcileAll answers whether all books balance. It may take minutes.
func (a *API) reconcileAll(w http.ResponseWriter, r *http.Request, _ caller) error {
	books, err := a.o.Proofs.Everything(r.Context(), nil)
	if err != nil {
		return err
	}
	WriteJSON(w, http.StatusOK, books)
	return nil
}

// unread tells an operator what Redis has that makes no sense: somebody has written there by hand. A Redis that
// does not answer is as everywhere.
func unread(err error) error {
	if errors.Is(err, reconcile.ErrHot) && !unavailable(err) {
		return refuse(http.StatusServiceUnavailable, "unreadable", err.Error())
	}
	return err
}
