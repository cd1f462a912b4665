package statement

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/rain"
)

// Ledger is what a statement is held against. [ledger.Statements] does.
type Ledger interface {
	WithdrawalsByID(ctx context.Context, ids []string) (map[string]ledger.Withdrawal, error)
	EachPaid(ctx context.Context, since, from, to int64, yield func(ledger.Withdrawal) error) error
	Deposits(ctx context.Context, from, to int64) ([]ledger.Deposit, error)
}

// Period is the time that a statement is of, and what it is of.
type Period struct {
	From, To int64  // Unix ms; what has happened at To is not of it
	Currency string // what the ledger's amounts are in
	Receiver string // of withdrawals: whose statement it is, as the ledger names it; "" = everybody's who has paid
}

// Kind is what a statement and the ledger differ in.
type Kind string

// The kinds.
const (
	MissingThere Kind = "missing_there" // the ledger has it, and the statement has not
	MissingHere  Kind = "missing_here"  // the statement has it, and the ledger has not
	WrongAmount  Kind = "amount"
	WrongState   Kind = "state"
	OtherMoney   Kind = "currency"
	Twice        Kind = "twice"
	Unreadable   Kind = "unreadable"
)

// Finding is one difference.
type Finding struct {
	Kind   Kind        `json:"kind"`
	Line   int         `json:"line,omitempty"`   // of the statement; 0: it has none
	Name   string      `json:"name"`             // a withdrawal's id, a deposit's reference, or what the statement says
	Ours   *rain.Money `json:"ours,omitempty"`   // the ledger's amount
	Theirs *rain.Money `json:"theirs,omitempty"` // the statement's
	Note   string      `json:"note"`
}

// MostFindings is how many differences are named; the others are counted.
const MostFindings = 1000

// Report is what a comparison has found.
type Report struct {
	Lines       int       `json:"lines"`       // of the statement
	Matched     int       `json:"matched"`     // lines that the ledger has in the same way
	Ignored     int       `json:"ignored"`     // that are none of the kind, such as what a bank has paid out
	Differences int       `json:"differences"` // all, also those that are not named
	Findings    []Finding `json:"findings"`
}

func (r *Report) find(f Finding) {
	r.Differences++
	if len(r.Findings) < MostFindings {
		f.Name = sqldb.Storable(f.Name, 200)
		r.Findings = append(r.Findings, f)
	}
}

// findLine notes a difference of a line.
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
