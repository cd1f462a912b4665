package ledger

import "slices"

// WithdrawalState is what has become of a withdrawal.
type WithdrawalState string

// The states of a withdrawal. Until it has ended its money is in the player's clearing account.
//
//	requested ──▶ sent ──▶ paid · refused
//	   │  ▲        │ ▲
//	   ▼  │        ▼ │
//	  held     action_required ──▶ paid · refused
//
// An operator can end a held one, and one that is a dead letter, as returned; a dead letter also as paid.
const (
	WithdrawalRequested WithdrawalState = "requested"       // out of the player's account; nobody was asked to pay it
	WithdrawalHeld      WithdrawalState = "held"            // stopped before anybody was asked
	WithdrawalSent      WithdrawalState = "sent"            // its receiver was asked; a clear answer is awaited
	WithdrawalAction    WithdrawalState = "action_required" // the player has to confirm it at the receiver
	WithdrawalPaid      WithdrawalState = "paid"
	WithdrawalRefused   WithdrawalState = "refused"  // by the receiver, for good; the money is back with the player
	WithdrawalReturned  WithdrawalState = "returned" // by operators; the money is back with the player
)

// The states in brief, as players' programs know them; lists can be asked for them.
const (
	WithdrawalPending WithdrawalState = "pending" // requested, held, sent or action_required
	WithdrawalFailed  WithdrawalState = "failed"  // refused or returned
)

// WithdrawalDead is what operators can ask lists for: those that are pending, and dead letters.
const WithdrawalDead WithdrawalState = "dead"

var (
	openStates   = []WithdrawalState{WithdrawalRequested, WithdrawalHeld, WithdrawalSent, WithdrawalAction}
	failedStates = []WithdrawalState{WithdrawalRefused, WithdrawalReturned}
)

// WithdrawalStates are all states, and those in brief.
func WithdrawalStates() []WithdrawalState {
	return slices.Concat(openStates, []WithdrawalState{WithdrawalPaid}, failedStates,
		[]WithdrawalState{WithdrawalPending, WithdrawalFailed})
}

// Brief is the state as players' programs know it: pending, paid or failed.
func (s WithdrawalState) Brief() WithdrawalState {
	switch {
	case slices.Contains(openStates, s):
		return WithdrawalPending
	case slices.Contains(failedStates, s):
		return WithdrawalFailed
	}
	return s
}

// Open tells whether a withdrawal in this state has not ended.
func (s WithdrawalState) Open() bool { return s.Brief() == WithdrawalPending }

// each are the states that a state in brief stands for; any other stands for itself.
func (s WithdrawalState) each() []WithdrawalState {
	switch s {
	case WithdrawalPending, WithdrawalDead:
		return openStates
	case WithdrawalFailed:
		return failedStates
	}
	return []WithdrawalState{s}
}
