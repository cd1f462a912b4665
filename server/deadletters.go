package server

import (
	"errors"
	"net/http"
	"strconv"

	"redrain/payout"
	"redrain/rain"
)

// stateFailed is the state of what has failed and is tried again: a withdrawal that was redriven.
const stateFailed = "failed"

// letterView is a dead letter: a claim that the ledger could not take, or a withdrawal that the provider gave no clear answer
// to, and why. Times are Unix ms.
type letterView struct {
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

func (a *api) deadLetters(w http.ResponseWriter, r *http.Request, _ caller) error {
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	if s := r.URL.Query().Get("state"); s != "" && s != string(payout.StateDead) {
		return rain.Invalid{{Field: "state", Message: "is dead; the other claims are listed under their campaign"}}
	}
	letters, next, err := a.ledger.DeadLetters(r.Context(), p.cursor, p.limit)
	if err != nil {
		return err
	}
	views := make([]letterView, len(letters))
	for i, d := range letters {
		views[i] = letterView{
			Claim: d.Claim, Campaign: d.Campaign, User: d.User, Packet: strconv.Itoa(d.Packet), Amount: d.Amount, At: d.WonAt,
			State: string(payout.StateDead), Kind: d.Kind, Reason: d.Reason, CreatedAt: d.CreatedAt,
		}
	}
	writeJSON(w, http.StatusOK, listOf(views, next))
	return nil
}

// retryPayout judges a dead letter anew, or has a withdrawal tried again. What is settled by that is told to its player like every settlement.
func (a *api) retryPayout(w http.ResponseWriter, r *http.Request, who caller) error {
	claim := r.PathValue("claim")
	settled, err := a.ledger.Retry(r.Context(), claim)
	if err != nil {
		return err
	}
	a.audit(r, who, "payout.retry", "claim:"+claim, map[string]any{"settled": len(settled)})
	out, err := a.ledger.Withdrawal(r.Context(), claim)
	switch {
	case err == nil:
		a.wakePayer()
		writeJSON(w, http.StatusOK, claimView{Claim: out.ID, User: out.User, Amount: out.Amount, At: out.CreatedAt, State: stateFailed})
		return nil
	case !errors.Is(err, payout.ErrUnknownWithdrawal):
		return err
	}
	answer := claimView{Claim: claim, State: string(payout.StateSettled)} // of a reclaim there is no more to say
	for i, s := range settled {
		answer = claimView{
			Claim: s.Claim, User: s.User, Packet: strconv.Itoa(s.Packet), Amount: s.Amount, At: s.WonAt, State: string(payout.StateSettled),
		}
		if err := a.office.control.Settled(s.Campaign, settled[i:i+1]); err != nil {
			a.log.Warn("the player was not told of the settlement; their next welcome does", "claim", s.Claim, "err", err)
		}
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}
