package risk

import (
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// Moment is the occasion of a request.
type Moment string

// The moments.
const (
	MomentGuest      Moment = "guest"      // a guest is to be made
	MomentHello      Moment = "hello"      // a player wants to come in
	MomentHold       Moment = "hold"       // our rules have a verdict against a player
	MomentWithdrawal Moment = "withdrawal" // a player wants to take money out
)

var allMoments = []Moment{MomentGuest, MomentHello, MomentHold, MomentWithdrawal}

// Caller is the player of a request, as far as known.
type Caller struct {
	User     string `json:"user"`
	Campaign string `json:"campaign,omitempty"`
	Address  string `json:"address,omitempty"` // as limits count it: of IPv6 the /64
	Session  string `json:"session,omitempty"` // the sid of the player's token
	Issued   int64  `json:"issued,omitempty"`  // issue time of the token, Unix ms
}

// Money is the withdrawal of a request.
type Money struct {
	Withdrawal string     `json:"withdrawal"`
	Amount     rain.Money `json:"amount"` // minor units
}

// Opinion is the verdict of our rules on a player.
type Opinion struct {
	Verdict standing.VerdictAct `json:"verdict"`
	Score   int                 `json:"score"`
	Reasons []standing.Reason   `json:"reasons"`
}

// Request is a request to the system. Fields unknown at a moment are left out.
type Request struct {
	ID     string `json:"id"` // unique to this request
	Moment Moment `json:"moment"`
	At     int64  `json:"at"` // the cluster's time, Unix ms
	Caller
	*Money
	Rules *Opinion `json:"rules,omitempty"`
}
