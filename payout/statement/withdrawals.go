package statement

import (
	"context"
	"slices"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
)

// longPaid is how long before it is paid a withdrawal that the statement does not name may have been asked for.
const longPaid = 60 * 24 * time.Hour

// Withdrawals holds a provider's statement against the withdrawals.
func Withdrawals(ctx context.Context, books Ledger, lines []Line, p Period) (Report, error) {
	m := withdrawalMatch{report: Report{Lines: len(lines), Findings: []Finding{}}, lines: lines,
		named: map[string][]int{}, ours: make([]*ledger.Withdrawal, len(lines)), byID: map[string]*said{}}
	for i := range lines {
		if lines[i].Fault == "" && !(lines[i].Signed && lines[i].Incoming) {
			for _, name := range lines[i].Names {
				m.named[name] = append(m.named[name], i)
			}
		}
	}
	if err := m.findByID(ctx, books); err != nil {
		return m.report, err
	}
	var missing []Finding
	err := books.EachPaid(ctx, p.From-longPaid.Milliseconds(), p.From, p.To, func(w ledger.Withdrawal) error {
		if p.Receiver != "" && w.Receiver != p.Receiver {
			return nil
		}
		if !m.assign(w.ID, &w) && (w.Reference == "" || !m.assign(w.Reference, &w)) {
			missing = append(missing, Finding{Kind: MissingThere, Name: w.ID, Ours: &w.Amount,
				Note: "paid here on " + day(w.FinishedAt) + ", reference " + w.Reference})
		}
		return nil
	})
	if err != nil {
		return m.report, err
	}
	m.compare(p)
	for _, f := range missing {
		m.report.find(f)
	}
	return m.report, nil
}

func day(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04 UTC") }

// withdrawalMatch is a comparison under way.
type withdrawalMatch struct {
	report Report
	lines  []Line
	named  map[string][]int     // name → the lines that have it
	ours   []*ledger.Withdrawal // of each line
	byID   map[string]*said
}

// said is what all lines of a withdrawal say together.
type said struct {
	states map[State]int
	told   bool // that it differs
}

// findByID finds the withdrawals that lines name by their ids.
func (m *withdrawalMatch) findByID(ctx context.Context, books Ledger) error {
	var ids []string
	for name := range m.named {
		if len(name) <= maxID {
			ids = append(ids, name)
		}
	}
	slices.Sort(ids)
	for some := range slices.Chunk(ids, sqldb.Chunk) {
		found, err := books.WithdrawalsByID(ctx, some)
		if err != nil {
			return err
		}
		for _, id := range some {
			if w, is := found[id]; is {
				m.assign(id, &w)
			}
		}
	}
	return nil
}

// maxID is the length of the longest id of a withdrawal, in bytes.
const maxID = 64

// assign gives a withdrawal to the lines of a name that are nobody's yet, and tells whether any line is its.
func (m *withdrawalMatch) assign(name string, w *ledger.Withdrawal) (is bool) {
	for _, i := range m.named[name] {
		if m.ours[i] == nil {
			m.ours[i] = w
			all := m.byID[w.ID]
			if all == nil {
				all = &said{states: map[State]int{}}
				m.byID[w.ID] = all
			}
			all.states[m.lines[i].State]++
		}
		is = is || m.ours[i].ID == w.ID
	}
	return is
}

// compare looks at each line and its withdrawal.
func (m *withdrawalMatch) compare(p Period) {
	seen := map[string]bool{} // withdrawals of which a payment was seen
	for i := range m.lines {
		l, w := &m.lines[i], m.ours[i]
		before := m.report.Differences
		switch {
		case l.Fault != "":
			m.report.findLine(l, Unreadable, "", nil, l.Fault)
		case l.Signed && l.Incoming, w == nil && l.State == Failed:
			m.report.Ignored++
			continue
		case w == nil:
			m.report.findLine(l, MissingHere, "", nil, "the ledger knows no such withdrawal; there it is "+
				string(l.State))
		case l.Currency != "" && l.Currency != p.Currency:
			m.report.findLine(l, OtherMoney, w.ID, &w.Amount, "it is in "+quote(l.Currency)+" there, and in "+
				p.Currency+" here")
		case l.Amount != w.Amount:
			m.report.findLine(l, WrongAmount, w.ID, &w.Amount, "the amounts differ")
		case l.State == Done && seen[w.ID]:
			m.report.findLine(l, Twice, w.ID, &w.Amount, "it is paid more than once there")
		}
		if w != nil {
			seen[w.ID] = seen[w.ID] || l.State == Done
			all := m.byID[w.ID]
			if note := stateNote(w.State, all.together()); note != "" && !all.told {
				all.told = true
				m.report.findLine(l, WrongState, w.ID, &w.Amount, note)
			}
		}
		if m.report.Differences == before {
			m.report.Matched++
		}
	}
}

// together is the state that several lines of a payment amount to.
func (s *said) together() State {
	for _, state := range []State{Returned, Done, Open} {
		if s.states[state] > 0 {
			return state
		}
	}
	return Failed
}

// stateNote is what is wrong where a withdrawal is in one state here and in another there; "" = nothing.
func stateNote(ours ledger.WithdrawalState, theirs State) string {
	paid, back := ours == ledger.WithdrawalPaid, ours.Brief() == ledger.WithdrawalFailed
	switch {
	case theirs == Done && back:
		return "it was paid there, and given back to the player here"
	case theirs == Done && !paid:
		return "it was paid there, and is " + string(ours) + " here"
	case theirs == Returned && paid:
		return "it was paid here, and returned there: the money is with us again, and not with the player"
	case theirs == Returned && !back:
		return "it was returned there, and is " + string(ours) + " here"
	case theirs == Open && paid:
		return "it was paid here, and is only on its way there"
	case theirs == Open && back:
		return "it was given back to the player here, and is on its way there"
	case theirs == Failed && paid:
		return "it was paid here, and failed there"
	}
	return ""
}
