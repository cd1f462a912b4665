package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/rain"
)

// maxDismissReason is how many bytes an operator may say about a dismissal.
const maxDismissReason = 200

// dismissPayout ends dead letters that an operator has found to be nobody's.
func (a *API) dismissPayout(w http.ResponseWriter, r *http.Request, who caller) error {
	in, err := bodyOf(w, r, who, openapi.DismissPayoutJSONBody{})
	if err != nil {
		return err
	}
	if in.Reason == "" || len(in.Reason) > maxDismissReason {
		return rain.Invalid{{Field: "reason", Message: fmt.Sprintf("is required: a reason of 1 to %d bytes",
			maxDismissReason)}}
	}
	letter := int64(0)
	if in.Letter != "" {
		if letter, err = strconv.ParseInt(in.Letter, 10, 64); err != nil || letter <= 0 {
			return rain.Invalid{{Field: "letter", Message: "is the id of a dead letter, as they are listed"}}
		}
	}
	claim := r.PathValue("claim")
	out, err := a.o.Approvals.Do(a.audited(r, who, "payout.dismiss", map[string]any{"reason": in.Reason}),
		ledger.Deed{Act: ledger.ActDismiss, Target: claim, Letter: letter}, personOf(who, in.Reason))
	if err != nil {
		return notDismissed(err, out.Dismissed)
	}
	if out.Pending != nil {
		asks(w, out.Pending)
		return nil
	}
	done := out.Dismissed
	kept := done.Kept
	if kept == nil {
		kept = []string{}
	}
	return answer(w, openapi.Dismissed{Claim: claim, Dismissed: done.Letters, Reclaimed: done.Reclaimed,
		Kept: kept}, nil)
}

// notDismissed says why letters are kept, where an error is about that.
func notDismissed(err error, d ledger.Dismissed) error {
	if errors.Is(err, ledger.ErrNotDismissed) {
		return refuse(http.StatusConflict, "not_dismissed", strings.Join(d.Kept, "; "))
	}
	return err
}
