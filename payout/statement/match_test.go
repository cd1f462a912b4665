package statement_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/statement"
	"redrain/rain"
)

// books is the ledger's side of a comparison.
type books struct {
	withdrawals []ledger.Withdrawal
	deposits    []ledger.Deposit
}

func (b books) WithdrawalsByID(_ context.Context, ids []string) (map[string]ledger.Withdrawal, error) {
	found := map[string]ledger.Withdrawal{}
	for _, w := range b.withdrawals {
		if slices.Contains(ids, w.ID) {
			found[w.ID] = w
		}
	}
	return found, nil
}

func (b books) EachPaid(_ context.Context, since, from, to int64, yield func(ledger.Withdrawal) error) error {
	for _, w := range b.withdrawals {
		if w.State == ledger.WithdrawalPaid && w.CreatedAt >= since && w.FinishedAt >= from && w.FinishedAt < to {
			if err := yield(w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b books) Deposits(context.Context, int64, int64) ([]ledger.Deposit, error) {
	return b.deposits, nil
}

var period = statement.Period{From: 1000, To: 2000, Currency: "CNY"}

// found formats a report.
func found(r statement.Report) []string {
	list := []string{}
	for _, f := range r.Findings {
		amount := func(m *rain.Money) string {
			if m == nil {
				return "-"
			}
			return fmt.Sprint(int64(*m))
		}
		list = append(list, fmt.Sprintf("%s %d %s %s/%s", f.Kind, f.Line, f.Name, amount(f.Ours), amount(f.Theirs)))
	}
	return list
}

// withdrawals returns one in each state, and one that was paid in another period.
func withdrawals() (list []ledger.Withdrawal) {
	for _, state := range []ledger.WithdrawalState{ledger.WithdrawalRequested, ledger.WithdrawalHeld,
		ledger.WithdrawalSent, ledger.WithdrawalAction, ledger.WithdrawalPaid, ledger.WithdrawalRefused,
		ledger.WithdrawalReturned} {
		w := ledger.Withdrawal{ID: "w-" + string(state), Amount: 1234, State: state, Receiver: "bank", CreatedAt: 900}
		if state == ledger.WithdrawalPaid {
			w.FinishedAt, w.Reference = 1500, "ref-paid"
		}
		list = append(list, w)
	}
	old := ledger.Withdrawal{ID: "w-old", Amount: 5, State: ledger.WithdrawalPaid, CreatedAt: 1, FinishedAt: 2}
	return append(list, old)
}

func TestAProvidersStatement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		csv     string
		matched int
		want    []string
	}{
		"all as it is here":   {"w-paid,12.34,paid", 1, []string{}},
		"by its reference":    {"ref-paid,12.34,paid", 1, []string{}},
		"of another period":   {"w-paid,12.34,paid\nw-old,0.05,paid", 2, []string{}},
		"missing there":       {"", 0, []string{"missing_there 0 w-paid 1234/-"}},
		"missing here":        {"w-paid,12.34,paid\nw-made-up,7,paid", 1, []string{"missing_here 3 w-made-up -/700"}},
		"failed, and unknown": {"w-paid,12.34,paid\nw-made-up,7,failed", 1, []string{}},
		"another amount":      {"w-paid,12.35,paid", 0, []string{"amount 2 w-paid 1234/1235"}},
		"twice":               {strings.Repeat("w-paid,12.34,paid\n", 2), 1, []string{"twice 3 w-paid 1234/1234"}},
		"returned there":      {"w-paid,12.34,returned", 0, []string{"state 2 w-paid 1234/1234"}},
		"paid, then returned": {"w-paid,12.34,paid\nw-paid,-12.34,returned", 1, []string{"state 2 w-paid 1234/1234"}},
		"only under way":      {"w-paid,12.34,pending", 0, []string{"state 2 w-paid 1234/1234"}},
		"failed there":        {"w-paid,12.34,failed", 0, []string{"state 2 w-paid 1234/1234"}},
		"given back here":     {"w-paid,12.34,\nw-returned,12.34,paid", 1, []string{"state 3 w-returned 1234/1234"}},
		"refused here":        {"w-paid,12.34,\nw-refused,12.34,paid", 1, []string{"state 3 w-refused 1234/1234"}},
		"never sent":          {"w-paid,12.34,\nw-requested,12.34,paid", 1, []string{"state 3 w-requested 1234/1234"}},
		"back on both sides":  {"w-paid,12.34,\nw-returned,12.34,returned", 2, []string{}},
		"open on both sides":  {"w-paid,12.34,\nw-sent,12.34,pending", 2, []string{}},
		"back and under way":  {"w-paid,12.34,\nw-refused,12.34,pending", 1, []string{"state 3 w-refused 1234/1234"}},
		"unreadable": {"w-paid,twelve,paid", 0, []string{"unreadable 2 w-paid -/-",
			"missing_there 0 w-paid 1234/-"}},
	} {
		lines, err := statement.Read([]byte("key,amount,state\n"+c.csv+"\n"), statement.Format{})
		testenv.Must(t, err)
		r, err := statement.Withdrawals(t.Context(), books{withdrawals: withdrawals()}, lines, period)
		if got := found(r); err != nil || !slices.Equal(got, c.want) || r.Matched != c.matched ||
			r.Differences != len(c.want) {
			t.Errorf("%s: %q, %d matched, %v; want %q", name, got, r.Matched, err, c.want)
		}
	}
}

// TestOneReceiversStatement has no payments of other receivers.
func TestOneReceiversStatement(t *testing.T) {
	t.Parallel()
	of := period
	of.Receiver = "another"
	r, err := statement.Withdrawals(t.Context(), books{withdrawals: withdrawals()}, nil, of)
	if err != nil || r.Differences != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestMoreDifferencesThanAreNamed are counted all the same.
func TestMoreDifferencesThanAreNamed(t *testing.T) {
	t.Parallel()
	text := "key,amount\n" + strings.Repeat("nobody's,1\n", statement.MostFindings+5)
	lines, err := statement.Read([]byte(text), statement.Format{})
	testenv.Must(t, err)
	r, err := statement.Withdrawals(t.Context(), books{}, lines, period)
	if err != nil || r.Differences != statement.MostFindings+5 || len(r.Findings) != statement.MostFindings {
		t.Errorf("%d, %d named, %v", r.Differences, len(r.Findings), err)
	}
}

func TestABanksStatement(t *testing.T) {
	t.Parallel()
	entry := func(direction, reference, amount string) string {
		return `<Ntry><Amt Ccy="CNY">` + amount + `</Amt><CdtDbtInd>` + direction + `</CdtDbtInd>` +
			`<Sts><Cd>BOOK</Cd></Sts>` +
			`<NtryDtls><TxDtls><Refs><EndToEndId>` + reference + `</EndToEndId></Refs></TxDtls></NtryDtls></Ntry>`
	}
	reversed := func(entry string) string {
		return strings.Replace(entry, "<Sts>", "<RvslInd>true</RvslInd><Sts>", 1)
	}
	for name, c := range map[string]struct {
		camt    string
		matched int
		ignored int
		want    []string
	}{
		"all as it is here": {entry("CRDT", "r1", "10.00"), 1, 0, []string{}},
		"in the text": {entry("CRDT", "NOTPROVIDED</EndToEndId></Refs><RmtInf><Ustrd>budget r1, 2026</Ustrd></RmtInf>"+
			"<Refs><EndToEndId>", "10"), 1, 0, []string{}},
		"another way":   {entry("CRDT", "r1", "10.00") + entry("DBIT", "w1", "99"), 1, 1, []string{}},
		"missing there": {"", 0, 0, []string{"missing_there 0 r1 1000/-"}},
		"missing here": {entry("CRDT", "r1", "10") + entry("CRDT", "r2", "7"), 1, 0,
			[]string{"missing_here 2 r2 -/700"}},
		"another amount": {entry("CRDT", "r1", "10.01"), 0, 0, []string{"amount 1 r1 1000/1001"}},
		"another currency": {strings.Replace(entry("CRDT", "r1", "10"), "CNY", "USD", 1), 0, 0,
			[]string{"currency 1 r1 1000/1000"}},
		"twice": {entry("CRDT", "r1", "10") + entry("CRDT", "r1", "10"), 1, 0, []string{"twice 2 r1 1000/1000"}},
		"taken back": {entry("CRDT", "r1", "10") + reversed(entry("DBIT", "r1", "10")), 1, 0,
			[]string{"state 2 r1 1000/1000"}},
		"came and went back": {entry("CRDT", "r1", "10") + reversed(entry("DBIT", "r9", "10")), 2, 0, []string{}},
		"announced": {strings.Replace(entry("CRDT", "r1", "10"), "BOOK", "PDNG", 1), 0, 1,
			[]string{"missing_there 0 r1 1000/-"}},
		"no amount": {entry("CRDT", "r1", "ten"), 0, 0,
			[]string{"unreadable 1 r1 -/-", "missing_there 0 r1 1000/-"}},
		"negative": {entry("CRDT", "r1", "-10"), 0, 0,
			[]string{"unreadable 1 r1 -/-", "missing_there 0 r1 1000/-"}},
	} {
		lines, err := statement.Read([]byte(`<?xml version="1.0" encoding="UTF-8"?>`+
			`<Document xmlns="urn:iso:std:iso:20022:`+
			`tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>`+c.camt+`</Stmt></BkToCstmrStmt></Document>`),
			statement.Format{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := statement.Deposits(t.Context(), books{deposits: []ledger.Deposit{
			{Sponsor: "acme", Reference: "r1", Amount: 1000, At: 1500},
			{Sponsor: "acme", Reference: "later", Amount: 1, At: 2500},
		}}, lines, period)
		if got := found(r); err != nil || !slices.Equal(got, c.want) || r.Matched != c.matched ||
			r.Ignored != c.ignored {
			t.Errorf("%s: %q, %d matched, %d ignored, %v; want %q", name, got, r.Matched, r.Ignored, err, c.want)
		}
	}
}

// TestTwoSponsorsOneReference: each gets the line with its amount.
func TestTwoSponsorsOneReference(t *testing.T) {
	t.Parallel()
	lines, err := statement.Read([]byte("key,amount\nr1,2\nr1,1\n"), statement.Format{})
	testenv.Must(t, err)
	r, err := statement.Deposits(t.Context(), books{deposits: []ledger.Deposit{
		{Sponsor: "a", Reference: "r1", Amount: 100, At: 1500}, {Sponsor: "b", Reference: "r1", Amount: 200, At: 1500},
	}}, lines, period)
	if err != nil || r.Matched != 2 || r.Differences != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
