package sqldb_test

import (
	"context"
	"errors"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// growing is a table of numbers in memory.
type growing struct {
	sqldb.Querier

	newest int64
	away   error
}

func (g *growing) First(_ context.Context, dest []any, _ string, _ ...any) (bool, error) {
	*dest[0].(*int64) = g.newest
	return true, g.away
}

func (g *growing) Each(_ context.Context, row func(sqldb.Scan) error, _ string, args ...any) error {
	after, limit := args[0].(int64), args[1].(int)
	for n := after + 1; n <= g.newest && n <= after+int64(limit); n++ {
		scan := func(dest ...any) error {
			*dest[0].(*int64) = n
			return nil
		}
		if err := row(scan); err != nil {
			return err
		}
	}
	return nil
}

// A mirror reads new rows, in order and once. After a restore of the database it reads all rows again.
func TestMirror(t *testing.T) {
	g := &growing{}
	table := sqldb.NewTable("t", func(n *int64) []any { return []any{"number", n} })
	m := sqldb.NewMirror(table, func(n int64) (int64, string) { return n, "all" },
		func(old []int64, n int64) []int64 { return append(old, n) })
	for _, step := range []struct {
		newest int64
		away   error
		fresh  int // so many are new
	}{
		{0, nil, 0}, {3, nil, 3}, {3, nil, 0}, {2_500, nil, 2_497}, {2_600, errors.New("away"), 0}, {2_600, nil, 100},
		{2_000, nil, 0}, {2_001, nil, 1}, {0, nil, 0}, {1, nil, 1},
	} {
		g.newest, g.away = step.newest, step.away
		fresh, err := m.Refresh(t.Context(), g)
		if !errors.Is(err, step.away) || len(fresh) != step.fresh {
			t.Errorf("up to %d: %d are new, want %d (%v)", step.newest, len(fresh), step.fresh, err)
		}
		if step.away != nil {
			continue
		}
		var all []int64
		for n := range step.newest {
			all = append(all, n+1)
		}
		copied := m.Rows("all")
		testenv.Equal(t, copied, all, "up to %d: the copy has %d rows", step.newest, len(copied))
	}
}
