package campaigns

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"redrain/internal/testenv"
)

// TestADrainedCampaignIsProvedByRow: once, and again after an error, also by another node.
func TestADrainedCampaignIsProvedByRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1", "c2")
		_, stop := reconcilerAt(t, f, "a")
		minutes(2)
		f.set(func() { f.live, f.away["c2"], f.rows = []string{"c1"}, true, nil })
		minutes(2)
		stop()
		f.set(func() {
			if !slices.Equal(f.rows, []string{"c2", "c2"}) {
				t.Errorf("rows were looked at of %q", f.rows)
			}
			f.rows = nil
			delete(f.away, "c2")
		})
		_, stop = reconcilerAt(t, f, "b")
		defer stop()
		minutes(5)
		f.set(func() {
			if !slices.Equal(f.rows, []string{"c2"}) {
				t.Errorf("after a restart rows were looked at of %q", f.rows)
			}
		})
	})
}

// TestAnOperatorsRunRaisesAlarms: it counts as the nightly one. Its figures are forgotten without the lease.
func TestAnOperatorsRunRaisesAlarms(t *testing.T) {
	t.Parallel()
	f := newFakeBooks("c1")
	f.found["drained"] = "packet 1"
	books := nodeBooks{f, "a"}
	var alarms []string
	p := NewProofs(ProofsOptions{Books: books, Campaigns: books, Kept: f.kept, Leases: books, Node: "a",
		Log: slog.New(slog.DiscardHandler), Alarm: func(_, campaign, _ string) { alarms = append(alarms, campaign) }})
	testenv.Must(t, testenv.Err(p.Full(t.Context(), nil)))
	if !slices.Equal(alarms, []string{"drained"}) || f.forgot["a"] != 1 || f.kept.last["drained"].Findings != 2 {
		t.Errorf("alarms %q, forgot %v, noted %+v", alarms, f.forgot, f.kept.last)
	}
}
