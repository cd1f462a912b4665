package operator

import (
	"encoding/json"

	"redrain/rain"
)

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
	Balanced     bool              `json:"balanced"`     // all was checked, and nothing is wrong anywhere
	Difference   rain.Money        `json:"difference"`   // of all campaigns together, each without its sign
	Checked      int               `json:"checked"`      // campaigns
	Unbalanced   int               `json:"unbalanced"`   // campaigns
	Transactions int64             `json:"transactions"` // that were looked at
	Accounts     int64             `json:"accounts"`     // that were looked at
	Campaigns    []CampaignBooks   `json:"campaigns"`    // the first with something wrong
	Unchecked    []CampaignProblem `json:"unchecked"`    // the first that could not be checked
	Findings     []string          `json:"findings"`     // what is wrong with the ledger itself, in words
	Letters      []string          `json:"letters"`      // all dead letters that wait, in words
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

// AuditRecord is one action of an operator.
type AuditRecord struct {
	At     int64           `json:"at"`
	Actor  string          `json:"actor"`
	Role   string          `json:"role"`
	Action string          `json:"action"`
	Target string          `json:"target"`
	Detail json.RawMessage `json:"detail"` // depends on the action
}

// AuditRoot is the newest block of hashes of each table at the end of a day.
type AuditRoot struct {
	Day      string       `json:"day"` // in UTC: 2026-11-22
	At       int64        `json:"at"`
	Previous string       `json:"previous"` // Root of the one before; "": it is the first
	Blocks   []AuditBlock `json:"blocks"`
	Root     string       `json:"root"` // SHA-256 of all of the above, in hexadecimal
}

// AuditBlock is a block of hashes of rows.
type AuditBlock struct {
	Book   string `json:"book"`   // the table
	Number int64  `json:"number"` // from 1
	Last   int64  `json:"last"`   // the highest id in it
	Rows   int64  `json:"rows"`
	Hash   string `json:"hash"`
}

// AuditVerification says whether the ledger's rows are what was hashed.
type AuditVerification struct {
	Whole    bool     `json:"whole"`
	Roots    int      `json:"roots"`  // that were compared with the blocks
	Blocks   int64    `json:"blocks"` // that were compared with the rows
	Rows     int64    `json:"rows"`   // that were compared with their hashes
	Faults   int64    `json:"faults"`
	Findings []string `json:"findings"` // the faults in words; not all of very many
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
