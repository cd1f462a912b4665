package client

import "redrain/internal/wire"

// For json.Unmarshal of the body of a Message, by its type.

type (
	// Welcome is "welcome", the answer to Hello and Join.
	Welcome = wire.Welcome
	// RainChange is "rain": a rain whose phase has changed.
	RainChange = wire.RainChange
	// CampaignChange is "campaign": a campaign that has changed.
	CampaignChange = wire.CampaignChange
	// Wave is "wave": drops that will appear.
	Wave = wire.Wave
	// Result is "result", the answer to Tap.
	Result = wire.Result
	// Settled is "settled": wins that are in the ledger.
	Settled = wire.Settled
	// WithdrawalChange is "withdrawal": a withdrawal with a new state.
	WithdrawalChange = wire.WithdrawalChange
	// Room is "room": the figures of the room, once a second.
	Room = wire.Room
	// Pong is "pong", the answer to Ping.
	Pong = wire.Pong
	// Renewed is "renewed", the answer to a new token.
	Renewed = wire.Renewed
	// Refusal is "error": a message that the server refuses.
	Refusal = wire.Error
	// Goodbye is "goodbye", the last message before a close.
	Goodbye = wire.Goodbye
)
