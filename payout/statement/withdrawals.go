package statement

import (
	"context"
	"slices"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
)

// longPaid is the longest time between the request and the payment of a withdrawal that the statement may lack.
const longPaid = 60 * 24 * time.Hour

// Withdrawals compares a provider's statement with the withdrawals.
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

// withdrawalMatch is a comparison in progress.
type withdrawalMatch struct {
	report Report
	lines  []Line
	named  map[string][]int     // name → the lines that have it
	ours   []*ledger.Withdrawal // of each line
	byID   map[string]*said
}

// said is the sum of all lines of a withdrawal.
type said struct {
	states   map[State]int
	reported bool // the difference was reported
}

// findByID finds the withdrawals whose ids are in lines.
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

// assign gives a withdrawal to the unassigned lines with a name. It reports whether any line belongs to it.
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

// compare compares each line with its withdrawal.
func (m *withdrawalMatch) compare(p Period) {
	seen := map[string]bool{} // withdrawals with a payment
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
			m.report.findLine(l, MissingHere, "", nil, "the ledger has no such withdrawal; there it is "+
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
			if note := stateNote(w.State, all.together()); note != "" && !all.reported {
				all.reported = true
				m.report.findLine(l, WrongState, w.ID, &w.Amount, note)
			}
		}
		if m.report.Differences == before {
			m.report.Matched++
		}
	}
}

// together returns the state that several lines of a payment amount to.
func (s *said) together() State {
	for _, state := range []State{Returned, Done, Open} {
		if s.states[state] > 0 {
			return state
		}
	}
	return Failed
}

// stateNote describes the difference of two states; "" = none.
func stateNote(ours ledger.WithdrawalState, theirs State) string {
	paid, back := ours == ledger.WithdrawalPaid, ours.Brief() == ledger.WithdrawalFailed
	switch {
	case theirs == Done && back:
		return "it was paid there, and returned to the player here"
	case theirs == Done && !paid:
		return "it was paid there, and is " + string(ours) + " here"
	case theirs == Returned && paid:
		return "it was paid here, and returned there: the money is with us again, and not with the player"
	case theirs == Returned && !back:
		return "it was returned there, and is " + string(ours) + " here"
	case theirs == Open && paid:
		return "it was paid here, and is still in flight there"
	case theirs == Open && back:
		return "it was returned to the player here, and is in flight there"
	case theirs == Failed && paid:
		return "it was paid here, and failed there"
	}
	return ""
}
