package client

import "redrain/internal/wire"

// The messages of the server, for json.Unmarshal of a Message's body. The Type of each is in its comment.
type (
	Welcome          = wire.Welcome          // "welcome", the answer to Hello and Join
	RainChange       = wire.RainChange       // "rain"
	CampaignChange   = wire.CampaignChange   // "campaign"
	Wave             = wire.Wave             // "wave"
	Result           = wire.Result           // "result", the answer to Tap
	Settled          = wire.Settled          // "settled"
	WithdrawalChange = wire.WithdrawalChange // "withdrawal"
	Room             = wire.Room             // "room"
	Pong             = wire.Pong             // "pong", the answer to Ping
	Renewed          = wire.Renewed          // "renewed"
	Refusal          = wire.Error            // "error"
	Goodbye          = wire.Goodbye          // "goodbye"
)
