package room

// Close codes after which a client reconnects, with a full-jitter backoff.
const (
	CodeShutdown     = 4000 // this node is going away
	CodeUnavailable  = 4001 // a back end does not answer, or there are too many newcomers at once
	CodeFull         = 4003 // no admission to the room yet: after goodbye.reconnect_after_ms
	CodeTooManySeats = 4004 // the player has opened one connection too many; the newest ones stay
	CodeSlowConsumer = 4008 // the client reads its results too slowly; the next welcome has its wins
	CodeNoPong       = 4009 // no sign of life from the client for too long
)

// Close codes after which a client does not reconnect by itself: the same would happen again.
const (
	CodeBadToken        = 4500 // the token is not valid
	CodeProtocol        = 4501 // the client does not speak redrain.v1, or sent no hello in time
	CodeUnknownCampaign = 4502 // hello named an unknown campaign
	CodeTooManyBad      = 4504 // the client sent too many bad messages
	CodeOrigin          = 4505 // the page's origin is not allowed
	CodeSentAway        = 4506 // an operator has ended the player's connections, or has banned the player
	CodeExpired         = 4507 // the token has expired: come back with a new one
	CodeNotInvited      = 4508 // the campaign is for the players on its list, and this one is not on it
)
