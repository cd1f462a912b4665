package api

import (
	"context"
	"net/http"
	"strings"

	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/rain"
)

func approvalViewOf(a ledger.Approval) openapi.Approval {
	return openapi.Approval{
		Approval: a.ID, Action: string(a.Act), Target: a.Target, Amount: a.Amount, Reference: a.Reference,
		Reason: a.Asked.Reason, AskedBy: a.Asked.Name, AskedAt: a.AskedAt, ExpiresAt: a.ExpiresAt,
		State: string(a.State), DecidedBy: a.Decided.Name, DecidedAt: a.DecidedAt, Decision: a.Decided.Reason,
	}
}

// rightTo is the right that an act needs, of both people.
var rightTo = map[ledger.Act]right{
	ledger.ActDeposit: depositing, ledger.ActRetry: judging, ledger.ActDismiss: judging, ledger.ActPaid: paying,
	ledger.ActBack: paying, ledger.ActProvider: paying,
}

// maxReason is the length limit of a person's reason, in bytes.
const maxReason = 400

// maxPayment is the length limit of a receiver's name for a payment, in bytes.
const maxPayment = 200

// personOf returns the caller in the ledger's form.
func personOf(who caller, reason string) ledger.Person {
	return ledger.Person{Name: who.name, ID: who.operator.ID, Nameless: who.operator.Shared,
		Reason: strings.TrimSpace(reason)}
}

// asks answers that an act waits for a second person.
func asks(w http.ResponseWriter, pending *ledger.Approval) {
	WriteJSON(w, http.StatusAccepted, approvalViewOf(*pending))
}

func (a *API) approvals(w http.ResponseWriter, r *http.Request, _ caller) error {
	state := ledger.ApprovalState(r.URL.Query().Get("state"))
	switch state {
	case "", ledger.ApprovalPending, ledger.ApprovalConfirmed, ledger.ApprovalRejected, ledger.ApprovalExpired:
	default:
		return rain.Invalid{{Field: "state", Message: "is pending, confirmed, rejected or expired"}}
	}
	return answerList(w, r, func(ctx context.Context, cursor string, limit int) ([]ledger.Approval, string, error) {
		return a.o.Approvals.ListApprovals(ctx, state, cursor, limit)
	}, approvalViewOf)
}

func (a *API) approval(w http.ResponseWriter, r *http.Request, _ caller) error {
	found, err := a.o.Approvals.Approval(r.Context(), r.PathValue("id"))
	return answerAs(w, found, err, approvalViewOf)
}

// confirmApproval executes the ordered act after the second person's confirmation, and notifies the parties.
func (a *API) confirmApproval(w http.ResponseWriter, r *http.Request, who caller) error {
	by, err := a.decides(w, r, who, false)
	if err != nil {
		return err
	}
	order, done, err := a.o.Approvals.Confirm(a.audited(r, who, "approval.confirm", nil), r.PathValue("id"), by)
	if err != nil {
		return notDismissed(err, done.Dismissed)
	}
	a.notify(r.Context(), order.Deed, done)
	return answer(w, approvalViewOf(order), nil)
}

// rejectApproval ends an order without executing it.
func (a *API) rejectApproval(w http.ResponseWriter, r *http.Request, who caller) error {
	by, err := a.decides(w, r, who, true)
	if err != nil {
		return err
	}
	order, err := a.o.Approvals.Reject(a.audited(r, who, "approval.reject", map[string]any{"reason": by.Reason}),
		r.PathValue("id"), by)
	return answerAs(w, order, err, approvalViewOf)
}

// decides reads the second person's decision. This person also needs the right to the act itself.
func (a *API) decides(w http.ResponseWriter, r *http.Request, who caller, why bool) (ledger.Person, error) {
	reason, _, err := readReason(w, r, who, why)
	if err != nil {
		return ledger.Person{}, err
	}
	order, err := a.o.Approvals.Approval(r.Context(), r.PathValue("id"))
	if err != nil {
		return ledger.Person{}, err
	}
	if need := rightTo[order.Act]; !who.may(need) {
		return ledger.Person{}, a.refuseRight(r, who, need)
	}
	return personOf(who, reason), nil
}

// readReason reads a person's reason, and the receiver's name for a payment if there is one.
func readReason(w http.ResponseWriter, r *http.Request, who caller, needed bool) (reason, reference string, err error) {
	in, err := bodyOf(w, r, who, openapi.WithdrawalOrder{})
	if err != nil {
		return "", "", err
	}
	if needed && strings.TrimSpace(in.Reason) == "" || len(in.Reason) > maxReason {
		return "", "", rain.Invalid{{Field: "reason", Message: "is required: a reason of 1 to 400 bytes"}}
	}
	if len(in.Reference) > maxPayment {
		return "", "", rain.Invalid{{Field: "reference", Message: "has at most 200 bytes"}}
	}
	return in.Reason, in.Reference, nil
}

// notify notifies the player or the payer of an executed act.
func (a *API) notify(ctx context.Context, d ledger.Deed, done ledger.Outcome) {
	switch d.Act {
	case ledger.ActRetry:
		a.o.Notifier.Retried(ctx, done.Settled)
		a.o.WakePayer()
	case ledger.ActPaid, ledger.ActBack:
		a.o.TellWithdrawn(d.Target)
	case ledger.ActProvider: // withdrawals have waited for it
		a.o.WakePayer()
	case ledger.ActDeposit, ledger.ActDismiss:
	}
}
