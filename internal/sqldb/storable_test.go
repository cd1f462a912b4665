package sqldb_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

func TestStorable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""},
		{"no such account", 500, "no such account"},
		{"账户不存在 😀", 500, "账户不存在 😀"},
		{"账户", 5, "账"},
		{"a\x00b", 500, `a\x00b`},
		{"a\xffb\xe4", 500, `a\xffb\xe4`},
		{"\xed\xa0\x80", 500, `\xed\xa0\x80`}, // a lone surrogate
		{"\uFFFD", 500, "\uFFFD"},             // another program has replaced the original bytes
		{"a\xff", 4, "a"},
		{strings.Repeat("\xff", 1<<20), 9, `\xff\xff`},
		{"'; -- \\", 500, "'; -- \\"},
	} {
		testenv.Equal(t, sqldb.Storable(c.text, c.n), c.want, "%.20q in %d", c.text, c.n)
	}
}

// TestWhatIsStorableIsStored in a column of text, in each of the ways that a value is written, and read as it was.
func TestWhatIsStorableIsStored(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		for i, text := range testenv.HostileTexts() {
			text = sqldb.Storable(text, 500)
			var got [2]string
			err := db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
				columns, id := []string{"entry", "attempts", "last_error", "last_at"}, strconv.Itoa(i)
				if err := tx.Insert(ctx, "attempt", columns, [][]any{{id, 1, text, 1}}, sqldb.Merge{}); err != nil {
					return err
				}
				const read = "SELECT last_error FROM attempt WHERE entry = ?"
				if _, err := tx.First(ctx, []any{&got[0]}, read, id); err != nil {
					return err
				}
				for _, to := range []string{"another", text} {
					if _, err := tx.Exec(ctx, "UPDATE attempt SET last_error = ? WHERE entry = ?", to, id); err != nil {
						return err
					}
				}
				_, err := tx.First(ctx, []any{&got[1]}, read, id)
				return err
			})
			if err != nil || got != [2]string{text, text} {
				t.Errorf("%.40q: %v; read as %.40q", text, err, got)
			}
		}
	})
}
