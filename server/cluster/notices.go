package cluster

import (
	"encoding/json"

	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/rain"
)

// Settled reports claims of one campaign that are in the ledger.
type Settled struct {
	Campaign string
	Claims   []SettledClaim
}

// Won lists the newest winners for all players, with their full ids. Figures masks them.
type Won struct {
	Winners []Winner `json:"winners"` // the newest last
}

// Winner is a player who has won.
type Winner struct {
	User   string     `json:"user"`
	Amount rain.Money `json:"amount"`
}

// SettledClaim is a claim in the ledger, and the player's balance after it.
type SettledClaim struct {
	Claim   string
	User    string
	Packet  int
	Drop    string
	Amount  rain.Money
	Balance rain.Money
}

// Figures are the figures that a room is shown once a second, from the node that has added them up.
type Figures struct {
	Node string    `json:"node"`
	Room wire.Room `json:"room"`
	// InStock lists the lanes with stock; none if a shard is unknown.
	InStock []rain.Lane `json:"in_stock,omitempty"`
	// Nameless lists players who are shown without a name. Their own node may have it.
	Nameless []string `json:"nameless,omitempty"`
}

// Withdrawn reports that a player's withdrawal has ended, or waits for its player.
type Withdrawn struct {
	Withdrawal wire.Withdrawal `json:"withdrawal"`
	Balance    rain.Money      `json:"balance"`
}

// DryShard reports that a shard is empty while taps wait.
type DryShard struct {
	Shard int    `json:"shard"`
	Node  string `json:"node"` // the sender
	Taps  int    `json:"taps"` // that wait on it
}

// Alarm is an event that needs an operator.
type Alarm struct {
	Code     string `json:"code"`
	Campaign string `json:"campaign"`
	Message  string `json:"message"`
	// LastsMS is the time after which the alarm ends if it is not repeated; 0: a day.
	LastsMS int64 `json:"lasts_ms,omitempty"`
}

// alarmNotice is an alarm between nodes.
type alarmNotice struct {
	Alarm

	Node string `json:"node"` // the sender
}

// actionView is an action as its player sees it. The data of the kind wechat is an object of its own.
func actionView(a ledger.Action) *wire.Action {
	v := &wire.Action{Kind: "data", URL: a.URL, Data: a.Data, ExpiresAt: a.Until}
	switch {
	case a.Kind == ledger.ActionWeChat:
		v.Data, v.Kind = "", a.Kind
		_ = json.Unmarshal([]byte(a.Data), v) // the provider wrote it; the player cannot act on anything else
	case a.URL != "":
		v.Kind = "url"
	}
	return v
}

// WithdrawalView is a withdrawal as its player sees it.
func WithdrawalView(w ledger.Withdrawal) wire.Withdrawal {
	v := wire.Withdrawal{
		ID: w.ID, User: w.User, Amount: w.Amount, State: string(w.State.Brief()), Stage: string(w.State),
		CreatedAt: w.CreatedAt, FinishedAt: w.FinishedAt, Reference: w.Reference,
	}
	if v.State == string(ledger.WithdrawalFailed) {
		v.Reason = w.LastError // that of a pending one may disclose internals
	}
	if w.State == ledger.WithdrawalAction {
		v.Action = actionView(w.Action)
	}
	return v
}
