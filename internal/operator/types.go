package operator

import (
	"encoding/json"

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
	Online          int64      `json:"online"` // connections in the room
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

// Reconciliation says where a campaign's money is. All but Balanced are amounts.
type Reconciliation struct {
	Funded     rain.Money `json:"funded"`
	Paid       rain.Money `json:"paid"`
	Reclaimed  rain.Money `json:"reclaimed"`
	Stock      rain.Money `json:"stock"`
	Held       rain.Money `json:"held"`      // of what is paid: kept apart
	Confirmed  rain.Money `json:"confirmed"` // of what is paid: kept apart once, and given back to the sponsor
	Unsettled  rain.Money `json:"unsettled"`
	Dead       rain.Money `json:"dead"`
	Difference rain.Money `json:"difference"`
	Balanced   bool       `json:"balanced"`
	Findings   []string   `json:"findings,omitempty"` // what is wrong, in words
	Letters    []string   `json:"letters,omitempty"`  // the campaign's dead letters that wait, in words
	// Later is how many packets were paid while this was done, and so are counted as stock.
	Later     int64 `json:"later,omitempty"`
	CheckedAt int64 `json:"checked_at,omitempty"`
	TookMS    int64 `json:"took_ms,omitempty"`
}

// Rebuilt says what a rebuild has restored.
type Rebuilt struct {
	Campaign string `json:"campaign"`
	Shards   []int  `json:"shards"`  // those that were lost
	Packets  int    `json:"packets"` // in their stock
	Wins     int    `json:"wins"`    // that Redis knows again
}

// SealKey is the key that seals what players win. Only its number is known.
type SealKey struct {
	Key int64 `json:"key"`
}

// ProofSince says what a proof of what is recent has taken from the ones before.
type ProofSince struct {
	Checkpoint   int64 `json:"checkpoint"`
	At           int64 `json:"at"`           // Unix ms
	Transactions int64 `json:"transactions"` // that were not read again
}

// Progress is how far a full proof has come.
type Progress struct {
	Part   string  `json:"part"` // what it reads, in words
	Done   int64   `json:"done"` // rows that were read
	Of     int64   `json:"of"`   // about how many there are
	Rate   float64 `json:"rate"` // rows a second
	LeftMS int64   `json:"left_ms"`
}

// Books is the reconciliation of everything.
type Books struct {
	Kind         string            `json:"kind"`            // full, or recent: what came since a checkpoint
	Since        *ProofSince       `json:"since,omitempty"` // of kind recent
	Balanced     bool              `json:"balanced"`        // all was checked, and nothing is wrong anywhere
	Difference   rain.Money        `json:"difference"`      // of all campaigns together, each without its sign
	Checked      int               `json:"checked"`         // campaigns
	Unbalanced   int               `json:"unbalanced"`      // campaigns
	Transactions int64             `json:"transactions"`    // that were looked at
	Accounts     int64             `json:"accounts"`        // that were looked at
	Campaigns    []CampaignBooks   `json:"campaigns"`       // the first with something wrong
	Unchecked    []CampaignProblem `json:"unchecked"`       // the first that could not be checked
	Findings     []string          `json:"findings"`        // what is wrong with the ledger itself, in words
	Letters      []string          `json:"letters"`         // all dead letters that wait, in words
	CheckedAt    int64             `json:"checked_at"`
	TookMS       int64             `json:"took_ms,omitempty"`
}

// CampaignBooks is the reconciliation of one campaign among others.
type CampaignBooks struct {
	Campaign string `json:"campaign"`
	Reconciliation
}

// CampaignProblem says why a campaign could not be checked.
type CampaignProblem struct {
	Campaign string `json:"campaign"`
	Reason   string `json:"reason"`
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

// Sponsor is somebody who pays for campaigns.
type Sponsor struct {
	Sponsor string     `json:"sponsor"`
	Balance rain.Money `json:"balance"`
}

// User is a player's account.
type User struct {
	User    string     `json:"user"`
	Balance rain.Money `json:"balance"`
	Payout  *Payout    `json:"payout,omitempty"` // of the player's own account
}

// Payout is where a withdrawal goes.
type Payout struct {
	Provider string `json:"provider"`       // wallet or http
	Name     string `json:"name,omitempty"` // in the organizer's words
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

// Withdrawal is money that a player takes out. Times are Unix milliseconds on the server's clock.
type Withdrawal struct {
	Withdrawal string     `json:"withdrawal"`
	User       string     `json:"user"`
	Amount     rain.Money `json:"amount"`
	State      string     `json:"state"` // pending, paid or failed
	Stage      string     `json:"stage"` // requested, held, sent, action_required, paid, refused or returned
	CreatedAt  int64      `json:"created_at"`
	FinishedAt int64      `json:"finished_at"` // 0 while it is pending
	Reference  string     `json:"reference"`   // the provider's, once paid
	Reason     string     `json:"reason"`      // why it failed
	Action     *Action    `json:"action"`      // what the player has to do; only in the stage action_required
	Balance    rain.Money `json:"balance"`     // the player's afterwards; only Withdraw is told
	// The following fields are for operators and viewers.
	Receiver  string            `json:"receiver"` // whom it was first sent to; "" before
	SentAt    int64             `json:"sent_at"`  // 0 before
	Dead      bool              `json:"dead"`     // not tried again until RetryPayout
	Attempts  int               `json:"attempts"`
	NextAt    int64             `json:"next_at"` // 0 where it is not tried any more
	LastError string            `json:"last_error"`
	Order     *PendingOrder     `json:"order"`   // nil where none waits for a second person
	History   []WithdrawalEvent `json:"history"` // only of one that is asked for by its id
}

// StageHeld is the stage of a withdrawal that an operator has stopped before anybody was asked to pay it.
const StageHeld = "held"

// WithdrawalOrder is why somebody does something with a withdrawal.
type WithdrawalOrder struct {
	Reason    string `json:"reason"`
	Reference string `json:"reference,omitempty"` // of what is marked as paid: the provider's name for it
}

// PendingOrder is an order that one operator has asked for and another can confirm.
type PendingOrder struct {
	Approval string `json:"approval"` // what ConfirmApproval takes
	What     string `json:"what"`     // paid or back
	By       string `json:"by"`
	Reason   string `json:"reason"`
	AskedAt  int64  `json:"asked_at"`
	Until    int64  `json:"until"` // when it is void
}

// Action is what a player has to do before a withdrawal is paid.
type Action struct {
	URL       string `json:"url"`
	Data      string `json:"data"`       // for the provider's own app
	ExpiresAt int64  `json:"expires_at"` // 0: not said
}

// WithdrawalEvent is a line of a withdrawal's history.
type WithdrawalEvent struct {
	At     int64  `json:"at"`
	Stage  string `json:"stage"` // from then on
	Actor  string `json:"actor"`
	Reason string `json:"reason"`
}

// DeadLetter is a payment that was given up and waits for a person.
type DeadLetter struct {
	Letter    string     `json:"letter"` // its own id
	Claim     string     `json:"claim"`  // what RetryPayout and DismissPayout take
	Kind      string     `json:"kind"`   // pay, reclaim, forged, withdrawal, or message for what is no payment
	Campaign  string     `json:"campaign"`
	User      string     `json:"user"`
	Packet    string     `json:"packet"`
	Amount    rain.Money `json:"amount"`
	At        int64      `json:"at"`
	State     string     `json:"state"`
	Reason    string     `json:"reason"`
	CreatedAt int64      `json:"created_at"`
}

// Retried counts what became of dead letters that were tried again.
type Retried struct {
	Retried   int  `json:"retried"`
	Settled   int  `json:"settled"`
	StillDead int  `json:"still_dead"`
	NeedTwo   int  `json:"need_two"` // left out: each needs a second person, and is retried by its claim
	Complete  bool `json:"complete"` // false where the time ran out: call again to go on
}

// Dismissed is what became of the dead letters of a claim that nobody is waiting for.
type Dismissed struct {
	Claim     string     `json:"claim"`
	Dismissed int        `json:"dismissed"` // letters
	Reclaimed rain.Money `json:"reclaimed"` // what they held, and went back to the sponsor
	Kept      []string   `json:"kept"`      // why others of the claim were not dismissed
}

// AuditRecord is one action of an operator.
type AuditRecord struct {
	At     int64           `json:"at"`
	Actor  string          `json:"actor"`
	Role   string          `json:"role"`
	Action string          `json:"action"`
	Target string          `json:"target"`
	Detail json.RawMessage `json:"detail"` // depends on the action
}

// AuditRoot is how long the ledger's chains were at the end of a day.
type AuditRoot struct {
	Day      string      `json:"day"` // in UTC: 2026-11-22
	At       int64       `json:"at"`
	Previous string      `json:"previous"` // Root of the one before; "": it is the first
	Stripes  []AuditLink `json:"stripes"`
	Root     string      `json:"root"` // SHA-256 of all of the above, in hexadecimal
}

// AuditLink is the last link of a chain.
type AuditLink struct {
	Book   string `json:"book"` // the table
	Stripe int64  `json:"stripe"`
	Links  int64  `json:"links"`
	Hash   string `json:"hash"`
}

// AuditVerification is whether the ledger's chains are whole.
type AuditVerification struct {
	Whole    bool     `json:"whole"`
	Roots    int      `json:"roots"`    // that were held against the chains
	Links    int64    `json:"links"`    // rows that were looked at
	Broken   int64    `json:"broken"`   // places that are not whole
	Findings []string `json:"findings"` // those places in words; not all of very many
}

// Statement is what a provider or a bank says, and how it is read.
type Statement struct {
	Of       string            `json:"of"` // withdrawals or deposits
	From     int64             `json:"from"`
	To       int64             `json:"to"`
	File     []byte            `json:"file"`
	Columns  map[string]string `json:"columns,omitempty"`
	Minor    bool              `json:"minor,omitempty"`
	End      string            `json:"end,omitempty"`
	Currency string            `json:"currency,omitempty"`
	Receiver string            `json:"receiver,omitempty"`
}

// StatementReport is what differs between a statement and the ledger.
type StatementReport struct {
	Lines       int                `json:"lines"`
	Matched     int                `json:"matched"`
	Ignored     int                `json:"ignored"`
	Differences int                `json:"differences"`
	Findings    []StatementFinding `json:"findings"` // not all of very many
}

// StatementFinding is one difference.
type StatementFinding struct {
	Kind   string      `json:"kind"`
	Line   int         `json:"line,omitempty"` // of the statement; 0: it has none
	Name   string      `json:"name"`
	Ours   *rain.Money `json:"ours,omitempty"`
	Theirs *rain.Money `json:"theirs,omitempty"`
	Note   string      `json:"note"`
}

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
