package risk

import (
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// Moment is when the system is asked.
type Moment string

// The moments.
const (
	MomentGuest      Moment = "guest"      // a guest is to be made
	MomentHello      Moment = "hello"      // a player wants to come in
	MomentHold       Moment = "hold"       // our rules speak against a player
	MomentWithdrawal Moment = "withdrawal" // a player wants to take money out
)

var allMoments = []Moment{MomentGuest, MomentHello, MomentHold, MomentWithdrawal}

// Caller is who is asked about, as far as it is known.
type Caller struct {
	User     string `json:"user"`
	Campaign string `json:"campaign,omitempty"`
	Address  string `json:"address,omitempty"` // as limits count it: of IPv6 the /64
	Session  string `json:"session,omitempty"` // the sid of the player's token
	Issued   int64  `json:"issued,omitempty"`  // when the token was made, Unix ms
}

// Money is what is to leave.
type Money struct {
	Withdrawal string     `json:"withdrawal"`
	Amount     rain.Money `json:"amount"` // minor units
}

// Opinion is what our rules say of a player.
type Opinion struct {
	Verdict standing.VerdictAct `json:"verdict"`
	Score   int                 `json:"score"`
	Reasons []standing.Reason   `json:"reasons"`
}

// Request is what the system is asked. What is not known at a moment is left out.
type Request struct {
	ID     string `json:"id"` // of this request, and of no other
	Moment Moment `json:"moment"`
	At     int64  `json:"at"` // the cluster's time, Unix ms
	Caller
	*Money
	Rules *Opinion `json:"rules,omitempty"`
}
