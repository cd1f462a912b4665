package ledger

import "errors"

// Errors of the ledger. What a database says is wrapped as it is.
var (
	ErrInvalidAmount     = errors.New("an amount is 1 minor unit to rain.MaxBudget")
	ErrInvalidReference  = errors.New("a reference is 1 to 200 bytes")
	ErrReferenceReused   = errors.New("the reference was used for another amount")
	ErrUnknownSponsor    = errors.New("no such sponsor")
	ErrCampaignExists    = errors.New("a campaign with this id exists")
	ErrCampaignStocked   = errors.New("the campaign has been stocked, so it can be closed but not abandoned")
	ErrUnknownWithdrawal = errors.New("no such withdrawal")
	ErrImmutable         = errors.New("what a campaign was created with does not change")
	// ErrUnchanged is returned by a change given to Update: nothing is written nor audited, and Update succeeds.
	ErrUnchanged          = errors.New("the same was done before")
	ErrUnknownClaim       = errors.New("no dead letter for this claim")
	ErrStillDead          = errors.New("the dead letter still cannot be posted")
	ErrBadCursor          = errors.New("the cursor is not one that a list has given")
	ErrIdempotencyBusy    = errors.New("a request with this idempotency key is in progress")
	ErrIdempotencyUnequal = errors.New("the idempotency key was used with another body")
)
