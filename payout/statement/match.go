package statement

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/rain"
)

// Ledger is the ledger's side of a comparison. [ledger.Statements] implements it.
type Ledger interface {
	WithdrawalsByID(ctx context.Context, ids []string) (map[string]ledger.Withdrawal, error)
	EachPaid(ctx context.Context, since, from, to int64, yield func(ledger.Withdrawal) error) error
	Deposits(ctx context.Context, from, to int64) ([]ledger.Deposit, error)
}

// Period is the time and the scope of a statement.
type Period struct {
	From, To int64  // Unix ms; To is exclusive
	Currency string // of the ledger's amounts
	Receiver string // of withdrawals: the receiver in the ledger; "" = every receiver that has paid
}

// Kind is the kind of a difference.
type Kind string

// The kinds.
const (
	MissingThere Kind = "missing_there" // only the ledger has it
	MissingHere  Kind = "missing_here"  // only the statement has it
	WrongAmount  Kind = "amount"
	WrongState   Kind = "state"
	OtherMoney   Kind = "currency"
	Twice        Kind = "twice"
	Unreadable   Kind = "unreadable"
)

// Finding is one difference.
type Finding struct {
	Kind   Kind        `json:"kind"`
	Line   int         `json:"line,omitempty"`   // of the statement; 0: none
	Name   string      `json:"name"`             // a withdrawal's id, a deposit's reference, or the statement's name
	Ours   *rain.Money `json:"ours,omitempty"`   // the ledger's amount
	Theirs *rain.Money `json:"theirs,omitempty"` // the statement's
	Note   string      `json:"note"`
}

// MostFindings is the largest number of named differences; the others are counted.
const MostFindings = 1000

// Report is the result of a comparison.
type Report struct {
	Lines       int       `json:"lines"`       // of the statement
	Matched     int       `json:"matched"`     // lines that match the ledger
	Ignored     int       `json:"ignored"`     // lines of another kind, such as a bank's outgoing payments
	Differences int       `json:"differences"` // all, including unnamed ones
	Findings    []Finding `json:"findings"`
}

func (r *Report) find(f Finding) {
	r.Differences++
	if len(r.Findings) < MostFindings {
		f.Name = sqldb.Storable(f.Name, 200)
		r.Findings = append(r.Findings, f)
	}
}

// findLine adds a difference of a line.
func (r *Report) findLine(l *Line, kind Kind, name string, ours *rain.Money, note string) {
	f := Finding{Kind: kind, Line: l.Number, Name: name, Ours: ours, Note: note}
	if f.Name == "" && len(l.Names) > 0 {
		f.Name = l.Names[0]
	}
	if l.Fault == "" {
		f.Theirs = &l.Amount
	}
	r.find(f)
}
