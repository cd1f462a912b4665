package cluster

import (
	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/rain"
)

// Settled tells that claims of one campaign are in the ledger, of players of one group.
type Settled struct {
	Campaign string
	Claims   []SettledClaim
}

// Won tells who has won of late, for all to see: under a masked id.
type Won struct {
	Winners []Winner `json:"winners"` // the newest last
}

// Winner is somebody who has won.
type Winner struct {
	User   string     `json:"user"`
	Amount rain.Money `json:"amount"`
}

// SettledClaim is a claim that the ledger has, and the balance of its player after it.
type SettledClaim struct {
	Claim   string
	User    string
	Packet  int
	Drop    string
	Amount  rain.Money
	Balance rain.Money
}

// Figures are what a room is shown once a second, from the node that has added them up.
type Figures struct {
	Node string    `json:"node"`
	Room wire.Room `json:"room"`
	// InStock are the lanes of which something is left; none where a shard is unknown.
	InStock []rain.Lane `json:"in_stock,omitempty"`
	// Nameless are players whom the room is shown without a name. A node where one of them is may know it.
	Nameless []string `json:"nameless,omitempty"`
}

type changedNotice struct {
	Revision int64 `json:"revision"`
}

// Withdrawn tells that a player's withdrawal has ended, or waits for its player.
type Withdrawn struct {
	Withdrawal wire.Withdrawal `json:"withdrawal"`
	Balance    rain.Money      `json:"balance"`
}

// DryShard tells that a shard has nothing left for taps that wait.
type DryShard struct {
	Shard int    `json:"shard"`
	Node  string `json:"node"` // that tells it
	Taps  int    `json:"taps"` // that wait there
}

type soldOutNotice struct {
	Lane rain.Lane `json:"lane"`
}

type stockedNotice struct {
	Shard int `json:"shard"`
}

// Alarm is something that an operator must look at.
type Alarm struct {
	Code     string `json:"code"`
	Campaign string `json:"campaign"`
	Message  string `json:"message"`
}

// WithdrawalView is a withdrawal as its player sees it.
func WithdrawalView(w ledger.Withdrawal) wire.Withdrawal {
	v := wire.Withdrawal{
		ID: w.ID, User: w.User, Amount: w.Amount, State: string(w.State.Brief()), Stage: string(w.State),
		CreatedAt: w.CreatedAt, FinishedAt: w.FinishedAt, Reference: w.Reference,
	}
	if v.State == string(ledger.WithdrawalFailed) {
		v.Reason = w.LastError // that of a pending one may show what is inside
	}
	if w.State == ledger.WithdrawalAction {
		v.Action = &wire.Action{URL: w.Action.URL, Data: w.Action.Data, ExpiresAt: w.Action.Until}
	}
	return v
}
