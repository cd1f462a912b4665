package api

import (
	"net/http"
	"strconv"

	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// stateFailed is the state of what has failed and is tried again: a withdrawal that was redriven.
const stateFailed = "failed"

// letterView is a dead letter: a claim that the ledger could not take, or a withdrawal that the provider gave no
// clear answer to, and why. Times are Unix ms.
type letterView struct {
	Letter    string     `json:"letter"`
	Claim     string     `json:"claim"` // what a retry takes
	Campaign  string     `json:"campaign"`
	User      string     `json:"user"`
	Packet    string     `json:"packet"`
	Amount    rain.Money `json:"amount"`
	At        int64      `json:"at"`
	State     string     `json:"state"`
	Kind      string     `json:"kind"`
	Reason    string     `json:"reason"`
	CreatedAt int64      `json:"created_at"`
}

func (a *API) deadLetters(w http.ResponseWriter, r *http.Request, _ caller) error {
	if s := r.URL.Query().Get("state"); s != "" && s != string(ledger.StateDead) {
		return rain.Invalid{{Field: "state", Message: "is dead; the other claims are listed under their campaign"}}
	}
	return answerList(w, r, a.o.DeadLetters.ListDeadLetters, func(d posting.DeadLetter) letterView {
		return letterView{
			Letter: strconv.FormatInt(d.ID, 10), Claim: d.Claim, Campaign: d.Campaign, User: d.User,
			Packet: strconv.Itoa(d.Packet), Amount: d.Amount, At: d.WonAt, State: string(ledger.StateDead),
			Kind: d.Kind, Reason: d.Reason, CreatedAt: d.CreatedAt,
		}
	})
}
