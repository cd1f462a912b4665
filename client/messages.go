package client

import "redrain/internal/wire"

// The messages of the server, for json.Unmarshal of a Message's body. The type "rain" is a RainChange, "campaign" a
// CampaignChange, "withdrawal" a WithdrawalChange and "error" a Refusal. The others have the name of their type.
type (
	Welcome          = wire.Welcome
	RainChange       = wire.RainChange
	CampaignChange   = wire.CampaignChange
	Wave             = wire.Wave
	Result           = wire.Result
	Settled          = wire.Settled
	WithdrawalChange = wire.WithdrawalChange
	Room             = wire.Room
	Pong             = wire.Pong
	Renewed          = wire.Renewed
	Refusal          = wire.Error
	Goodbye          = wire.Goodbye
)
