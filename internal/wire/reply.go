package wire

import (
	"encoding/json"

	"redrain/rain"
)

// The types of the server's messages.
const (
	TypeWelcome    = "welcome"
	TypeCampaign   = "campaign"
	TypeRain       = "rain"
	TypeWave       = "wave"
	TypeResult     = "result"
	TypeSettled    = "settled"
	TypeRoom       = "room"
	TypePong       = "pong"
	TypeWithdrawal = "withdrawal"
	TypeError      = "error"
	TypeGoodbye    = "goodbye"
	TypeRenewed    = "token_renewed"
)

// The codes of an error message. They are stable.
const (
	CodeMalformed       = "malformed"         // not a message of the protocol
	CodeUnknownType     = "unknown_type"      // no such message type
	CodeHelloFirst      = "hello_first"       // a message came before hello
	CodeAlreadyHello    = "already_hello"     // a second hello
	CodeUnknownCampaign = "unknown_campaign"  // join of a campaign that does not exist
	CodeNotAdmitted     = "not_admitted"      // join of a campaign without a free slot; the queue position is kept
	CodeUnavailable     = "unavailable"       // a back end does not answer; try again
	CodeBadToken        = "bad_token"         // the new token is not valid; the one before remains valid
	CodeOtherPlayer     = "other_player"      // the new token is another player's
	CodeNotInvited      = "not_on_the_list"   // the campaign is for the players on its list
	CodeDenied          = "denied"            // the player, or their address, may not take part
	CodeWatching        = "watching"          // a tap of a connection that only watches
	CodeTooMany         = "too_many_messages" // more messages than the connection's budget, or more joins
)

// LateHello is the reason of close code 4501 if the hello did not come in time. The client speaks the protocol, but
// the network or a machine is slow. The client reconnects, unlike after any other 4501.
const LateHello = "no hello in time"

// Welcome answers hello and join.
type Welcome struct {
	Type string `json:"type"`
	ID   ID     `json:"id,omitempty"`
	User string `json:"user"`
	Profile
	ServerTime  int64    `json:"server_time"`
	Campaign    Campaign `json:"campaign"`
	Rain        *Rain    `json:"rain"` // null if none was ever scheduled
	Claims      []Claim  `json:"claims"`
	ClaimsTotal int      `json:"claims_total"`
	Limits      Limits   `json:"limits"`
	ExpiresAt   int64    `json:"token_expires_at"` // the connection ends then, unless the client sends a new token
}

// Campaign is a player's view of a campaign.
type Campaign struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	State       string     `json:"state"`
	Budget      rain.Money `json:"budget"`
	Packets     int        `json:"packets"`
	WinsPerUser int        `json:"wins_per_user"`
	TapsPerUser int        `json:"taps_per_user"`
	ExpiresAt   int64      `json:"expires_at"`
	Drained     bool       `json:"drained"` // closed, every win is in the ledger, and the sponsor has the rest back
}

// CampaignOf returns the player's view of a campaign.
func CampaignOf(c *rain.Campaign, now int64) Campaign {
	return Campaign{
		ID: c.ID, Name: c.Name, State: c.State(now), Budget: c.Budget, Packets: c.Packets,
		WinsPerUser: c.WinsPerUser, TapsPerUser: c.TapsPerUser, ExpiresAt: c.ExpiresAt, Drained: c.Drained,
	}
}

// CampaignChange notifies players of the new state of a campaign.
type CampaignChange struct {
	Type     string   `json:"type"`
	Campaign Campaign `json:"campaign"`
}

// Rain is the public view of a rain, over WebSocket and HTTP. It never holds the seed.
type Rain struct {
	ID       string     `json:"id"`
	Campaign string     `json:"campaign"`
	Phase    rain.Phase `json:"phase"`
	StartsAt int64      `json:"starts_at"`
	EndsAt   int64      `json:"ends_at"`
	rain.Settings
	FirstWave  int64  `json:"first_wave"`
	Commitment string `json:"commitment"`
}

// RainOf returns the view of a rain; nil stays nil.
func RainOf(r *rain.Rain, now int64, paused bool) *Rain {
	if r == nil {
		return nil
	}
	return &Rain{
		ID: r.ID, Campaign: r.Campaign, Phase: r.Phase(now, paused), StartsAt: r.StartsAt, EndsAt: r.EndsAt(),
		Settings: r.Settings, FirstWave: r.FirstWave, Commitment: r.Seed.Commitment(),
	}
}

// Claim is one of the player's wins. State is "granted" until the ledger has it, then "settled".
type Claim struct {
	Claim  string     `json:"claim"`
	Packet string     `json:"packet"`
	Amount rain.Money `json:"amount"`
	State  string     `json:"state"`
	Luck   int        `json:"luck,omitempty"` // as in Result
	Held   bool       `json:"held,omitempty"` // quarantined until an operator has decided
}

// Limits notifies a client of its rate limits.
type Limits struct {
	TapsPerSecond int `json:"taps_per_second"` // 0: no limit
}

// RainChange announces a rain whenever its phase changes.
type RainChange struct {
	Type string `json:"type"`
	Rain *Rain  `json:"rain"`
}

// Wave announces drops. Each drop is [k, x, kind, fall_ms].
type Wave struct {
	Type  string   `json:"type"`
	Rain  string   `json:"rain"`
	N     int64    `json:"n"`
	At    int64    `json:"at"`
	Drops [][4]int `json:"drops"`
}

// WaveOf returns the message for a wave of a rain.
func WaveOf(rainID string, w rain.Wave) Wave {
	m := Wave{Type: TypeWave, Rain: rainID, N: w.N, At: w.At, Drops: make([][4]int, len(w.Drops))}
	for i, d := range w.Drops {
		m.Drops[i] = [4]int{d.K, d.X, int(d.Kind), int(d.FallMS)}
	}
	return m
}

// Result answers a tap. Amount, Packet, Claim and Luck come only with the outcome "won". Luck is the percentage of
// the campaign's packets that hold less, rounded down; it is left out if it is 0.
type Result struct {
	Type    string     `json:"type"`
	ID      ID         `json:"id,omitempty"`
	Drop    string     `json:"drop"`
	Outcome string     `json:"outcome"`
	Amount  rain.Money `json:"amount,omitempty"`
	Packet  string     `json:"packet,omitempty"`
	Claim   string     `json:"claim,omitempty"`
	Luck    int        `json:"luck,omitempty"`
}

// Settled notifies a player of claims that have become money, and the balance after them.
type Settled struct {
	Type    string         `json:"type"`
	Claims  []SettledClaim `json:"claims"`
	Balance rain.Money     `json:"balance"`
}

// SettledClaim is one claim of Settled.
type SettledClaim struct {
	Claim  string     `json:"claim"`
	Amount rain.Money `json:"amount"`
}

// WithdrawalChange notifies a player that a withdrawal was paid, has failed, or needs an action of the player.
type WithdrawalChange struct {
	Type       string     `json:"type"`
	Withdrawal Withdrawal `json:"withdrawal"`
	Balance    rain.Money `json:"balance"` // after it
}

// Withdrawal is a player's view of a withdrawal, over WebSocket and HTTP. Times are Unix milliseconds on the
// cluster's clock.
type Withdrawal struct {
	ID         string     `json:"withdrawal"`
	User       string     `json:"user"`
	Amount     rain.Money `json:"amount"`
	State      string     `json:"state"` // pending, paid or failed
	Stage      string     `json:"stage"` // the detailed state
	CreatedAt  int64      `json:"created_at"`
	FinishedAt int64      `json:"finished_at,omitempty"`
	Reference  string     `json:"reference,omitempty"` // the provider's, once it is known
	Reason     string     `json:"reason,omitempty"`    // of the failure
	Action     *Action    `json:"action,omitempty"`    // in the stage action_required
}

// Action is a player's task before a withdrawal is paid: to open an address, or to pass the data to the provider's
// app.
type Action struct {
	Kind      string `json:"kind"` // url, data or wechat
	URL       string `json:"url,omitempty"`
	Data      string `json:"data,omitempty"`
	MchID     string `json:"mch_id,omitempty"` // of the kind wechat: parameters of requestMerchantTransfer
	AppID     string `json:"app_id,omitempty"`
	Package   string `json:"package,omitempty"`
	ExpiresAt int64  `json:"expires_at,omitempty"` // Unix ms
}

// Room holds the room's figures, once a second.
type Room struct {
	Type   string `json:"type"`
	T      int64  `json:"t"`
	Online int64  `json:"online"`
	Stock  int    `json:"stock"`
	// StockGuests is the guests' part of the stock; nil if guests and players share it.
	StockGuests *int       `json:"stock_guests,omitempty"`
	Won         int        `json:"won"`
	AmountWon   rain.Money `json:"amount_won"`        // the sum of all won packets
	Winners     []Winner   `json:"winners"`           // the newest, newest first
	Top         []Winner   `json:"top"`               // the players who have won most in this campaign, most first
	Waiting     int64      `json:"waiting,omitempty"` // players in the waiting room
}

// Winner is a player who has won, under a masked id, and with the display profile if that is shown.
type Winner struct {
	User string `json:"user"`
	Profile
	Amount rain.Money `json:"amount"`
}

// Profile is a player's display profile, from the player's token, checked. All fields may be left out.
type Profile struct {
	Name   string `json:"name,omitempty"`   // at most 32 characters
	Avatar string `json:"avatar,omitempty"` // https address of a picture
	Face   string `json:"face,omitempty"`   // id of one of the server's own pictures; see names.IsFace
}

// Mask hides a name except its first character: 张三 becomes 张*. A guest keeps the last four characters as well,
// g*1a2b, to distinguish guests; they are random and reveal nothing. The test is rain.IsGuest, because a name that
// merely begins like a guest's may contain a telephone number.
func Mask(user string) string {
	masked := "*"
	for _, first := range user {
		masked = string(first) + "*"
		break
	}
	if rain.IsGuest(user) {
		masked += user[len(user)-4:]
	}
	return masked
}

// Pong answers ping.
type Pong struct {
	Type       string `json:"type"`
	ID         ID     `json:"id,omitempty"`
	T          int64  `json:"t"`
	ServerTime int64  `json:"server_time"`
}

// Renewed answers a new token.
type Renewed struct {
	Type      string `json:"type"`
	ID        ID     `json:"id,omitempty"`
	ExpiresAt int64  `json:"token_expires_at"`
}

// Error describes the fault of a message.
type Error struct {
	Type         string `json:"type"`
	ID           ID     `json:"id,omitempty"`
	Code         string `json:"code"`
	Message      string `json:"message"`
	Retryable    bool   `json:"retryable"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"` // with not_admitted
}

// Goodbye is the last message before the server closes the socket by its own decision.
type Goodbye struct {
	Type             string `json:"type"`
	Reason           string `json:"reason"`
	ReconnectAfterMS int64  `json:"reconnect_after_ms"`
	Position         int    `json:"position,omitempty"` // in the waiting room, from 1
	WaitMS           int64  `json:"wait_ms,omitempty"`  // expected wait, if it is known
}

// Encode encodes a message of this package. It panics on other values.
func Encode(message any) []byte {
	b, err := json.Marshal(message)
	if err != nil {
		panic("wire: a message that cannot be encoded: " + err.Error())
	}
	return b
}
