package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"redrain/grab/outcome"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/live"
)

// fakeStats are figures by campaign; of "broken" there are none, "bad" panics, "hangs" takes as long as it may.
type fakeStats map[string]live.Stats

func (f fakeStats) Stats(ctx context.Context, c *rain.Campaign) (live.Stats, error) {
	switch c.ID {
	case "broken":
		return live.Stats{}, errors.New("no Redis")
	case "bad":
		panic("torn")
	case "hangs":
		<-ctx.Done()
		return live.Stats{}, ctx.Err()
	}
	return f[c.ID], nil
}

// campaignWith is a campaign whose rain begins at a time.
func campaignWith(id string, startsAt int64) *rain.Campaign {
	return &rain.Campaign{ID: id, Rains: []rain.Rain{
		{ID: id + "-r", StartsAt: startsAt, Settings: rain.DefaultRain().Settings},
	}}
}

// TestASecondIsWritten: each campaign in its rain has a row, even if others fail. Old rows are thinned.
func TestASecondIsWritten(t *testing.T) {
	t.Parallel()
	db := paytest.Fresh(t, sqldb.SQLite)
	table := NewTable(db)
	p50, p99 := 1.25, 8.0004
	now := int64(1_000_000_000_500)
	clock := func() int64 { return now }
	stats := fakeStats{"c": {Online: 3, Waiting: 2, Taps: 70, Won: 5, Stock: 15, Paid: 4, GrabsPerSecond: 6.6,
		Outcomes: outcome.Counts{outcome.Won: 5, outcome.Empty: 60, outcome.Late: 5}, TapP50MS: &p50, TapP99MS: &p99}}
	campaigns := []*rain.Campaign{campaignWith("over", now-3_600_000), {ID: "never"},
		campaignWith("next-week", now+60_000)}
	for _, id := range []string{"c", "broken", "bad", "hangs"} {
		campaigns = append(campaigns, campaignWith(id, now-1_000))
	}
	for i := range 40 { // these do not wait for those that hang
		campaigns = append(campaigns, campaignWith(fmt.Sprint("quiet-", i), now+3_000))
	}
	r := NewRecorder(RecorderOptions{Table: table, Stats: stats, Node: "n", Clock: clock,
		Leases: ledger.New(db, clock, rain.NewAmountsCache()).Leases, Log: slog.New(slog.DiscardHandler),
		Live: func() []*rain.Campaign { return campaigns }})
	if err := r.second(t.Context()); err == nil {
		t.Error("nothing is said of the campaigns without figures")
	}
	read := func(id string) []Row {
		t.Helper()
		rows, err := table.Read(t.Context(), id, 0, 2*now, 0)
		testenv.Must(t, err)
		return rows
	}
	want := Row{Campaign: "c",
		At: 1_000_000_000_000, SpanMS: 1_000, Online: 3, Waiting: 2, Grabs: 7, P50: 1_250, P99: 8_000,
		Taps: 70, Won: 5, Paid: 4, Stock: 15, Empty: 60, Late: 5}
	if rows := read("c"); len(rows) != 1 || rows[0] != want {
		t.Errorf("%+v, want %+v", rows, want)
	}
	for _, id := range []string{"over", "never", "next-week", "broken", "bad", "hangs"} {
		if rows := read(id); len(rows) > 0 {
			t.Errorf("%s: %+v", id, rows)
		}
	}
	for i := range 40 {
		if rows := read(fmt.Sprint("quiet-", i)); len(rows) != 1 {
			t.Errorf("quiet campaign %d: %+v", i, rows)
		}
	}
	for _, age := range []struct{ ms, span int64 }{{2 * 3_600_000, 10_000}, {2 * 86_400_000, 60_000}} {
		now += age.ms
		testenv.Must(t, r.thin(t.Context()))
		if rows := read("c"); len(rows) != 1 || rows[0].SpanMS != age.span || rows[0].Taps != 70 {
			t.Errorf("later: %+v", rows)
		}
	}
	now += 401 * 86_400_000
	testenv.Must(t, r.thin(t.Context()))
	for _, id := range []string{"c", "quiet-3"} {
		if rows := read(id); len(rows) > 0 {
			t.Errorf("%s after 400 days: %+v", id, rows)
		}
	}
}

// TestAMinuteOfRainTakesLittle holds a rain of a minute below 100 KB, on MariaDB, indexes included.
func TestAMinuteOfRainTakesLittle(t *testing.T) {
	t.Parallel()
	db := paytest.Fresh(t, sqldb.MySQL)
	table := NewTable(db)
	const rains, seconds = 50, 3 + 60 + 4 + 10 // countdown, rain, the last drop's fall, what comes after
	for at := range int64(seconds) {
		rows := map[string]Row{}
		for i := range rains {
			r := second(1_700_000_000+at, 1<<30)
			r.P50, r.Waiting, r.Empty, r.Late = 1<<30, 1<<30, 1<<30, 1<<30
			rows[fmt.Sprintf("campaign-%010d", i)] = r
		}
		testenv.Must(t, table.Add(t.Context(), rows))
	}
	var size int64
	testenv.Must(t, db.Each(t.Context(), func(sqldb.Scan) error { return nil }, "ANALYZE TABLE figure"))
	_, err := db.First(t.Context(), []any{&size}, "SELECT data_length + index_length FROM information_schema.tables "+
		"WHERE table_schema = DATABASE() AND table_name = 'figure'")
	testenv.Must(t, err)
	t.Logf("%d bytes a rain", size/rains)
	if size/rains > 100<<10 {
		t.Errorf("a rain of a minute takes %d bytes", size/rains)
	}
}
