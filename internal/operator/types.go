package operator

import (
	"redrain/internal/wire"
	"redrain/rain"
)

// Campaign is a campaign in the server's answers. Times are Unix milliseconds on the server's clock.
type Campaign struct {
	ID string `json:"id"`
	rain.Spec
	State     string      `json:"state"` // ready, raining, paused, closed; loading while it is being made
	CreatedAt int64       `json:"created_at"`
	ExpiresAt int64       `json:"expires_at"`
	Revision  int64       `json:"revision"`
	Rains     []wire.Rain `json:"rains"` // oldest first
	// DroppedAt is when its payouts began to leave the ledger; 0: they have not.
	DroppedAt int64 `json:"dropped_at,omitempty"`
}

// Stats are a campaign's figures over all nodes.
type Stats struct {
	Online          int64      `json:"online"` // connections in the room that play
	Taps            int64      `json:"taps"`   // answered with a result
	Won             int64      `json:"won"`
	Stock           int64      `json:"stock"`                  // packets left
	StockGuests     *int64     `json:"stock_guests,omitempty"` // the guests' part, where they have one
	Paid            int64      `json:"paid"`                   // packets settled
	AmountWon       rain.Money `json:"amount_won"`
	AmountPaid      rain.Money `json:"amount_paid"`
	AmountLeft      rain.Money `json:"amount_left"`      // of the stock
	AmountReclaimed rain.Money `json:"amount_reclaimed"` // back at the sponsor
	UnknownShards   int        `json:"unknown_shards"`   // that Redis does not tell of now: their part counts as left
	GrabsPerSecond  float64    `json:"grabs_per_second"`
	Waiting         int64      `json:"waiting"` // in the waiting room
	Seated          int64      `json:"seated"`  // with a seat, where there is a waiting room

	Outcomes map[string]int64 `json:"outcomes"` // the taps by their outcome
	// Percentiles of the answer times of the last five seconds, from socket to socket; nil where nobody tapped.
	TapP50MS *float64 `json:"tap_p50_ms"`
	TapP99MS *float64 `json:"tap_p99_ms"`
	Outbox   int64    `json:"outbox"` // wins on their way to the ledger
	Dead     int64    `json:"dead"`   // dead letters that wait for a person
}

// The states of a claim.
const (
	ClaimGranted = "granted" // won; the ledger does not have it yet
	ClaimSettled = "settled" // paid
	ClaimFailed  = "failed"  // the payment failed and is tried again
	ClaimDead    = "dead"    // the payment was given up; an operator must look at it
)

// Claim is a player's right to the amount of a packet that they won.
type Claim struct {
	Claim  string     `json:"claim"`
	User   string     `json:"user"`
	Packet string     `json:"packet"`
	Amount rain.Money `json:"amount"`
	At     int64      `json:"at"`
	State  string     `json:"state"`
	Held   bool       `json:"held,omitempty"`   // granted, and kept apart until a person has decided
	Ticket string     `json:"ticket,omitempty"` // the drop or the beat that it was won with
}

// Fairness proves that a rain fell as its commitment promised.
type Fairness struct {
	Commitment string   `json:"commitment"`
	Seed       string   `json:"seed,omitempty"` // hex; only after the end
	Schedule   Schedule `json:"schedule"`
}

// Schedule is the settings that, with the seed, determine a rain's drops, and the figures that follow from them.
type Schedule struct {
	Rain           string      `json:"rain"`
	Campaign       string      `json:"campaign"`
	StartsAt       int64       `json:"starts_at"`
	DurationMS     int64       `json:"duration_ms"`
	DropsPerSecond int         `json:"drops_per_second"`
	FallMS         int64       `json:"fall_ms"`
	DecoyPercent   int         `json:"decoy_percent"`
	Pacing         rain.Pacing `json:"pacing"`
	Odds           rain.Odds   `json:"odds"`
	BeatMS         int64       `json:"beat_ms"`
	// OddsRecord is with the odds "auto" only: the odds that were set, each with its first beat.
	OddsRecord []rain.OddsFrom `json:"odds_record,omitempty"`
	// GuestsOddsRecord is the same for guests, where they have a part of the packets for themselves.
	GuestsOddsRecord []rain.OddsFrom `json:"guests_odds_record,omitempty"`

	FirstWave int64  `json:"first_wave"`
	Waves     int64  `json:"waves"`
	Drops     int    `json:"drops"`
	Digest    string `json:"digest,omitempty"` // see rain.Rain.Digest; only after the end
}

// Lobby is the campaign that a page should open.
type Lobby struct {
	Campaign    string `json:"campaign"` // "" while none is on
	Name        string `json:"name"`
	WinsPerUser int    `json:"wins_per_user"`
	Guests      bool   `json:"guests"`       // whether anyone may play, under a generated name
	StartsInMS  int64  `json:"starts_in_ms"` // until the next rain, where one is to come; else 0
	Join        string `json:"join"`         // the page in the local network; for a browser on the server alone
}

// User is a player's account.
type User struct {
	User    string     `json:"user"`
	Balance rain.Money `json:"balance"`
	Payout  *Payout    `json:"payout,omitempty"` // of the player's own account
}

// Guest is a new player with a generated name.
type Guest struct {
	User      string `json:"user"`
	Token     string `json:"token"`
	ExpiresAt int64  `json:"expires_at"`
}

// The states of a withdrawal.
const (
	WithdrawalPending = "pending" // out of the player's account, not paid yet
	WithdrawalPaid    = "paid"
	WithdrawalFailed  = "failed" // refused for good; the money is back in the player's account
)

// Player is a player as operators see them.
type Player struct {
	User      string     `json:"user"`
	Name      string     `json:"name,omitempty"` // of the player's token; "": not known now
	Balance   rain.Money `json:"balance"`
	Banned    bool       `json:"banned"`
	Sanctions []Sanction `json:"sanctions"` // the newest first, at most 100
	// Verdicts are what was said against the player, the newest first, which counts.
	Verdicts []RiskVerdict `json:"verdicts"`
	// Connections are those that there are now, on all nodes; nil: nobody can say.
	Connections []PlayerConnection `json:"connections,omitzero"`
}

// PlayerConnection is a socket of a player.
type PlayerConnection struct {
	Node  string `json:"node"`
	Since int64  `json:"since"` // Unix ms
}

// RiskVerdict is what was said against a player.
type RiskVerdict struct {
	Verdict string       `json:"verdict"` // allow, hold or deny
	Score   int          `json:"score"`
	Reasons []RiskReason `json:"reasons"`
	By      string       `json:"by"`
	At      int64        `json:"at"` // Unix ms
}

// Sanction is something that an operator has done about a player.
type Sanction struct {
	Act    string `json:"act"` // disconnect, ban or unban
	Reason string `json:"reason"`
	By     string `json:"by"`
	At     int64  `json:"at"` // Unix ms
}

// StageHeld is the stage of a withdrawal that an operator has stopped before anybody was asked to pay it.
const StageHeld = "held"

// Page asks for a part of a list.
type Page struct {
	Limit  int    // items at most, up to 500; 0: 50
	Cursor string // the List.Next of the page before; "": the first page
}

// List is a page of a list.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor"` // "" on the last page
}
