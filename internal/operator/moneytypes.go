package operator

import "redrain/rain"

// Sponsor is somebody who pays for campaigns.
type Sponsor struct {
	Sponsor string     `json:"sponsor"`
	Balance rain.Money `json:"balance"`
}

// Payout is where a withdrawal goes.
type Payout struct {
	Provider string `json:"provider"`       // wallet or http
	Name     string `json:"name,omitempty"` // in the organizer's words
}

// Withdrawal is money that a player takes out. Times are Unix milliseconds on the server's clock.
type Withdrawal struct {
	Withdrawal string     `json:"withdrawal"`
	User       string     `json:"user"`
	Amount     rain.Money `json:"amount"`
	State      string     `json:"state"` // pending, paid or failed
	Stage      string     `json:"stage"` // requested, held, sent, action_required, paid, refused or returned
	CreatedAt  int64      `json:"created_at"`
	FinishedAt int64      `json:"finished_at"` // 0 while it is pending
	Reference  string     `json:"reference"`   // the provider's, once paid
	Reason     string     `json:"reason"`      // why it failed
	Action     *Action    `json:"action"`      // what the player has to do; only in the stage action_required
	Balance    rain.Money `json:"balance"`     // the player's afterwards; only Withdraw is told
	// The following fields are for operators and viewers.
	Receiver  string            `json:"receiver"` // whom it was first sent to; "" before
	SentAt    int64             `json:"sent_at"`  // 0 before
	Dead      bool              `json:"dead"`     // not tried again until RetryPayout
	Attempts  int               `json:"attempts"`
	NextAt    int64             `json:"next_at"` // 0 where it is not tried any more
	LastError string            `json:"last_error"`
	Order     *PendingOrder     `json:"order"`   // nil where none waits for a second person
	History   []WithdrawalEvent `json:"history"` // only of one that is asked for by its id
}

// WithdrawalOrder is why somebody does something with a withdrawal.
type WithdrawalOrder struct {
	Reason    string `json:"reason"`
	Reference string `json:"reference,omitempty"` // of what is marked as paid: the provider's name for it
}

// PendingOrder is an order that one operator has asked for and another can confirm.
type PendingOrder struct {
	Approval string `json:"approval"` // what ConfirmApproval takes
	What     string `json:"what"`     // paid or back
	By       string `json:"by"`
	Reason   string `json:"reason"`
	AskedAt  int64  `json:"asked_at"`
	Until    int64  `json:"until"` // when it is void
}

// Action is what a player has to do before a withdrawal is paid.
type Action struct {
	URL       string `json:"url"`
	Data      string `json:"data"`       // for the provider's own app
	ExpiresAt int64  `json:"expires_at"` // 0: not said
}

// WithdrawalEvent is a line of a withdrawal's history.
type WithdrawalEvent struct {
	At     int64  `json:"at"`
	Stage  string `json:"stage"` // from then on
	Actor  string `json:"actor"`
	Reason string `json:"reason"`
}

// DeadLetter is a payment that was given up and waits for a person.
type DeadLetter struct {
	Letter    string     `json:"letter"` // its own id
	Claim     string     `json:"claim"`  // what RetryPayout and DismissPayout take
	Kind      string     `json:"kind"`   // pay, reclaim, forged, withdrawal, or message for what is no payment
	Campaign  string     `json:"campaign"`
	User      string     `json:"user"`
	Packet    string     `json:"packet"`
	Amount    rain.Money `json:"amount"`
	At        int64      `json:"at"`
	State     string     `json:"state"`
	Reason    string     `json:"reason"`
	CreatedAt int64      `json:"created_at"`
}

// Retried counts what became of dead letters that were tried again.
type Retried struct {
	Retried   int  `json:"retried"`
	Settled   int  `json:"settled"`
	StillDead int  `json:"still_dead"`
	NeedTwo   int  `json:"need_two"` // left out: each needs a second person, and is retried by its claim
	Complete  bool `json:"complete"` // false where the time ran out: call again to go on
}

// Dismissed is what became of the dead letters of a claim that nobody is waiting for.
type Dismissed struct {
	Claim     string     `json:"claim"`
	Dismissed int        `json:"dismissed"` // letters
	Reclaimed rain.Money `json:"reclaimed"` // what they held, and went back to the sponsor
	Kept      []string   `json:"kept"`      // why others of the claim were not dismissed
}
