package statement

import (
	"cmp"
	"context"
	"slices"
	"time"

	"redrain/payout/ledger"
)

// longEntered is the longest time between the bank's date and the entry of a deposit.
const longEntered = 31 * 24 * time.Hour

// Deposits compares a bank's statement with the deposits.
func Deposits(ctx context.Context, books Ledger, lines []Line, p Period) (Report, error) {
	r := Report{Lines: len(lines), Findings: []Finding{}}
	list, err := books.Deposits(ctx, p.From-longEntered.Milliseconds(), p.To+longEntered.Milliseconds())
	if err != nil {
		return r, err
	}
	m := depositMatch{byReference: map[string][]int{}, list: list, taken: make([]bool, len(list))}
	for i, d := range list {
		m.byReference[d.Reference] = append(m.byReference[d.Reference], i)
	}
	for i := range lines {
		l := &lines[i]
		if l.Fault == "" && (!l.Incoming || l.State == Open || l.State == Failed) {
			r.Ignored++ // a deposit for a payment that was only announced counts as missing there
			continue
		}
		before := r.Differences
		m.compare(&r, l, p)
		if r.Differences == before {
			r.Matched++
		}
	}
	for i, d := range list {
		if !m.taken[i] && d.At >= p.From && d.At < p.To {
			r.find(Finding{Kind: MissingThere, Name: d.Reference, Ours: &d.Amount,
				Note: "entered here for sponsor " + d.Sponsor + " on " + day(d.At)})
		}
	}
	return r, nil
}

type depositMatch struct {
	byReference map[string][]int
	list        []ledger.Deposit
	taken       []bool // by a line
}

// compare compares an incoming payment with its deposit.
func (m *depositMatch) compare(r *Report, l *Line, p Period) {
	if l.Fault != "" {
		r.findLine(l, Unreadable, "", nil, l.Fault)
		return
	}
	at, known := m.find(l)
	if !known {
		if l.State == Done {
			r.findLine(l, MissingHere, "", nil, "it came in, and no deposit has its reference")
		}
		return // otherwise it came and went back
	}
	d := &m.list[at]
	switch again := m.taken[at]; {
	case l.Currency != "" && l.Currency != p.Currency:
		r.findLine(l, OtherMoney, d.Reference, &d.Amount, "it is in "+quote(l.Currency)+" there, and in "+p.Currency+
			" here")
	case l.State == Returned:
		r.findLine(l, WrongState, d.Reference, &d.Amount, "it was entered here, and taken back there")
	case again:
		r.findLine(l, Twice, d.Reference, &d.Amount, "it came in more than once, and was entered once")
	case l.Amount != d.Amount:
		r.findLine(l, WrongAmount, d.Reference, &d.Amount, "the amounts differ")
	}
	m.taken[at] = true
}

// find returns a line's deposit. It prefers one that no other line has, with the same amount.
func (m *depositMatch) find(l *Line) (at int, known bool) {
	for _, name := range l.Names {
		candidates := m.byReference[name]
		if len(candidates) == 0 {
			continue
		}
		return slices.MaxFunc(candidates, func(a, b int) int { return cmp.Compare(m.fits(a, l), m.fits(b, l)) }), true
	}
	return 0, false
}

// fits returns a score for a deposit and a line.
func (m *depositMatch) fits(at int, l *Line) (points int) {
	if m.taken[at] == (l.State == Returned) { // a reversal follows the payment
		points += 2
	}
	if m.list[at].Amount == l.Amount {
		points++
	}
	return points
}
