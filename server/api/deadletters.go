package api

import (
	"net/http"
	"strconv"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// stateFailed is the state of what has failed and is tried again: a withdrawal that was redriven.
const stateFailed = "failed"

func (a *API) deadLetters(w http.ResponseWriter, r *http.Request, _ caller) error {
	if s := r.URL.Query().Get("state"); s != "" && s != string(ledger.StateDead) {
		return rain.Invalid{{Field: "state", Message: "is dead; the other claims are listed under their campaign"}}
	}
	return answerList(w, r, a.o.DeadLetters.ListDeadLetters, func(d posting.DeadLetter) openapi.DeadLetter {
		return openapi.DeadLetter{
			Letter: strconv.FormatInt(d.ID, 10), Claim: d.Claim, Campaign: d.Campaign, User: d.User,
			Packet: strconv.Itoa(d.Packet), Amount: d.Amount, At: d.WonAt, State: string(ledger.StateDead),
			Kind: d.Kind, Reason: d.Reason, CreatedAt: d.CreatedAt,
		}
	})
}
