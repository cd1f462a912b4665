package client

import "redrain/internal/openapi"

// Campaign and the others are the answers that callers name most. Package openapi has all of them.
type (
	Campaign       = openapi.Campaign
	Claim          = openapi.Claim
	DeadLetter     = openapi.DeadLetter
	Fairness       = openapi.Fairness
	HeldWin        = openapi.HeldWin
	LoginWish      = openapi.LoginCodeRequest
	Player         = openapi.Player
	Reconciliation = openapi.Reconciliation
	Retried        = openapi.Retried
	RiskReason     = openapi.RiskReason
	RiskVerdict    = openapi.RiskVerdict
	Stats          = openapi.Stats
	Withdrawal     = openapi.WithdrawalRecord
)

// The states of a claim.
const (
	ClaimGranted = "granted" // won; the ledger does not have it yet
	ClaimSettled = "settled" // paid
	ClaimFailed  = "failed"  // the payment failed and is tried again
	ClaimDead    = "dead"    // the payment was given up; an operator must look at it
)

// The states of a withdrawal.
const (
	WithdrawalPending = "pending" // out of the player's account, not paid yet
	WithdrawalPaid    = "paid"
	WithdrawalFailed  = "failed" // refused for good; the money is back in the player's account
)

// StageHeld is the stage of a withdrawal that an operator has held before a provider was asked to pay it.
const StageHeld = "held"

// Page asks for a part of a list.
type Page struct {
	Limit  int    // items at most, up to 500; 0: 50
	Cursor string // the List.Next of the page before; "": the first page
}

// List is a page of a list.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor"` // "" on the last page
}
