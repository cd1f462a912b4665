package reconcile_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/paytest"
)

// onlyFull are the columns whose change a proof of what is recent does not see, even in rows that are, and why.
var onlyFull = map[string]string{
	"list_member.list_name":  members,
	"list_member.who":        members,
	"list_member.added_at":   members,
	"list_member.removed_at": members,
	"list_member.mark":       members,
}

const members = "a list may have a million members, which only the full proof adds up"

// TestEveryColumnOfARecentRow changes each column of each table in rows that no checkpoint has closed, and wants the
// proof of what is recent to name them.
func TestEveryColumnOfARecentRow(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	t.Parallel()
	b := paytest.OnSQLite(t)
	l := &columnLedger{t: t, b: b, f: fullLedger(t, b), recent: true}
	b.Proof.SetRecent(7, math.MaxInt64, 0)
	if found := l.prove(); len(found) > 0 {
		t.Fatalf("untouched: %q", found)
	}
	columns := slices.DeleteFunc(schemaOf(t, b), func(c column) bool { return strings.HasPrefix(c.table, "proof_") })
	for _, table := range tablesOf(columns) {
		l.keep(table)
	}
	for _, c := range columns {
		if onlyFull[c.name()] == "" {
			l.column(c)
		}
	}
	if found := l.prove(); len(found) > 0 {
		t.Fatalf("restored: %q", found)
	}
}
