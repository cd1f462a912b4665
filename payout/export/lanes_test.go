package export_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/export"
	"redrain/payout/paytest"
	"redrain/rain"
)

// laned makes a finished campaign with guests' and players' lanes, and wins in both.
func laned(t testing.TB, b *paytest.Books) *paytest.FakeRedis {
	t.Helper()
	f, _ := b.Stocked(t, "c1", rain.Spec{Budget: 100, Packets: 10, Shards: 4, GuestsShare: 400_000})
	f.Win("c1", 0, "p")
	f.Win("c1", 2, "g")
	b.CloseCampaign(t, "c1")
	for shard := range 4 {
		f.Close("c1", shard)
		b.SettleAll(t, f, shard)
	}
	b.Drain(t, "c1")
	return f
}

// changed returns the file with other values in some rows of a table.
func changed(t testing.TB, file, table, column, value string, instead map[string]string) string {
	t.Helper()
	lines, rows := parsed(t, file)
	found := false
	for _, r := range rows {
		if r.table != table || r.cells[slices.Index(r.columns, column)] != value {
			continue
		}
		found = true
		for name, is := range instead {
			r.cells[slices.Index(r.columns, name)] = is
		}
		text, err := json.Marshal(r.cells)
		testenv.Must(t, err)
		lines[r.number] = string(text)
	}
	if !found {
		t.Fatalf("no row of %s has %s %s", table, column, value)
	}
	return forge(lines)
}

// TestAnExportKeepsTheLanesApart: guests and players have separate packets and shards, and a row with the other
// lane's is a finding.
func TestAnExportKeepsTheLanesApart(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	file, _ := exported(t, b, "c1", laned(t, b))
	if v, err := export.Verify(strings.NewReader(file)); err != nil || !v.Proved || v.PacketsPaid != 2 {
		t.Fatalf("untouched: %+v, %v", v, err)
	}
	for name, is := range map[string]struct {
		table, column, value string
		instead              map[string]string
		want                 string
	}{
		"a guest's packet is a player's": {"payout", "packet", "6",
			map[string]string{"user_id": paytest.Home("p", 0, 2), "shard": "0"}, "is not of the player's lane"},
		"a guest won on a player's shard": {"payout", "packet", "6", map[string]string{"shard": "1"},
			"it says shard 1, but the player's is shard 2"},
		"one shard for two lanes": {"campaign", "id", "c1", map[string]string{"shards": "1"},
			"the campaign has 1 shards"},
		"a share that is none": {"campaign", "id", "c1", map[string]string{"guests_share": "1000000"},
			"1000000 millionths for guests"},
		"everything is everybody's": {"campaign", "id", "c1", map[string]string{"guests_share": "0"},
			"but the player's is shard"},
	} {
		v, err := export.Verify(strings.NewReader(changed(t, file, is.table, is.column, is.value, is.instead)))
		if err != nil || v.Proved || !slices.ContainsFunc(v.Findings, func(s string) bool {
			return strings.Contains(s, is.want)
		}) {
			t.Errorf("%s: %q is not in %q, %v", name, is.want, v.Findings, err)
		}
	}
}
