package export

import (
	"strconv"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// Value is for tests.
type Value = value

// Known is for tests.
var Known = known

// rowOf is a row as a file has it.
func rowOf(table string, cells ...string) row {
	r := row{table: table}
	for i := 0; i < len(cells); i += 2 {
		r.columns = append(r.columns, cells[i])
		r.values = append(r.values, value{String: cells[i+1], Valid: true})
	}
	return r
}

// TestPayoutsAreComparedWithTheSplit: with all hashes recomputed, a payout is still compared with the split.
func TestPayoutsAreComparedWithTheSplit(t *testing.T) {
	t.Parallel()
	campaign := rain.Campaign{ID: "c1", Spec: rain.Spec{Budget: 1_000, Packets: 10, Min: 1, Split: rain.DoubleMean}}
	amounts, err := rain.NewAmounts(&campaign)
	testenv.Must(t, err)
	for what, c := range map[string]struct {
		packet, amount int
		claim, fault   string
	}{
		"as it was":            {3, int(amounts.Of(3)), rain.ClaimID("c1", 3), ""},
		"a cent more":          {3, int(amounts.Of(3)) + 1, rain.ClaimID("c1", 3), "the split says"},
		"another's claim":      {3, int(amounts.Of(3)), rain.ClaimID("c1", 4), "another campaign"},
		"no packet":            {10, 5, rain.ClaimID("c1", 10), "no such packet"},
		"one that is paid":     {1, int(amounts.Of(1)), rain.ClaimID("c1", 1), "paid twice"},
		"one that went back":   {2, int(amounts.Of(2)), rain.ClaimID("c1", 2), "returned, too"},
		"one that is none yet": {-1, 5, rain.ClaimID("c1", -1), "no such packet"},
	} {
		check := &checker{campaign: campaign, amounts: amounts}
		check.paid.has, check.given.has = make([]bool, 10), make([]bool, 10)
		check.paid.has[1], check.given.has[2] = true, true
		check.payout(rowOf("payout", "campaign_id", "c1", "claim", c.claim, "packet", strconv.Itoa(c.packet),
			"user_id", "u", "amount", strconv.Itoa(c.amount)))
		said := strings.Join(check.v.Findings, "\n")
		if c.fault == "" && said != "" || !strings.Contains(said, c.fault) {
			t.Errorf("%s: %q", what, said)
		}
	}
}
