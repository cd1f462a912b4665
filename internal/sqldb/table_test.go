package sqldb_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

type coin struct {
	id     int64
	name   string
	most   *int64
	isGold bool
	note   []byte
	weight string // an integer in the table
}

var coins = sqldb.NewTable("coin", func(c *coin) []any {
	return []any{
		"id", &c.id, "name", &c.name, "most", &c.most, "gold", &c.isGold, "note", &c.note,
		"weight", sqldb.Via(func() int64 {
			n, _ := strconv.ParseInt(c.weight, 10, 64)
			return n
		}, func(n int64) error {
			c.weight = strconv.FormatInt(n, 10)
			return nil
		}),
	}
})

func TestTable(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		_, err := db.Exec(t.Context(), "CREATE TABLE coin (id BIGINT PRIMARY KEY, name VARCHAR(20) NOT NULL, "+
			"most BIGINT, gold TINYINT NOT NULL, note BLOB NOT NULL, weight BIGINT NOT NULL)")
		if err != nil {
			t.Fatal(err)
		}
		most := int64(7)
		given := []coin{
			{1, "a", nil, false, []byte("x"), "-10"}, {2, "b", &most, true, []byte{0, 1}, "20"},
			{3, "c", nil, true, []byte{}, "30"},
		}
		err = db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			return coins.Insert(ctx, tx, sqldb.Merge{}, given...)
		})
		if err != nil {
			t.Fatal(err)
		}
		list, next, err := coins.ListPage(t.Context(), db, sqldb.Where{}, "id", "", 2)
		if err != nil || len(list) != 2 || next != "2" {
			t.Fatalf("%+v, next %q, %v", list, next, err)
		}
		if got := list[1]; *got.most != 7 || !got.isGold || !slices.Equal(got.note, given[1].note) ||
			got.weight != "20" || list[0].most != nil {
			t.Errorf("%+v", list)
		}
		for order, want := range map[string]string{"id": "1 2 3", "name DESC": "3 2 1", "weight, id": "1 2 3",
			"name, id": "1 2 3", "weight DESC, name DESC": "3 2 1"} {
			var got, cursors []string
			var where sqldb.Where
			where.And("id < ?", 9)
			for after := ""; after != "" || got == nil; {
				list, next, err := coins.ListPage(t.Context(), db, where, order, after, 1)
				testenv.Must(t, err)
				got, after = append(got, strconv.FormatInt(list[0].id, 10)), next
				cursors = append(cursors, next)
			}
			testenv.Equal(t, strings.Join(got, " "), want, "by %s: the cursors %q", order, cursors)
		}
		for order, bad := range map[string]string{"id": "x", "weight, id": "1", "id, name": "1-", "name, id": "zz-1"} {
			_, _, err := coins.ListPage(t.Context(), db, sqldb.Where{}, order, bad, 1)
			testenv.WantErr(t, err, sqldb.ErrBadCursor, order)
		}
		if _, found, err := coins.Find(t.Context(), db, "WHERE id = ?", 4); err != nil || found {
			t.Errorf("found %t, %v", found, err)
		}
		pairs, err := sqldb.PairsIn[int64, string](t.Context(), db, "SELECT id, name FROM coin WHERE gold = ? "+
			"AND id IN", []int{1, 2, 3}, 1)
		if err != nil || len(pairs) != 2 || pairs[3] != "c" {
			t.Errorf("%v, %v", pairs, err)
		}
	})
}
