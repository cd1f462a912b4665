package sqldb_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// TestOptionsThatChangeMeaningAreRefused: at once, by name, and never with a value, which may be a secret.
func TestOptionsThatChangeMeaningAreRefused(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for option, refused := range map[string]bool{
		"charset=gbk": true, "charset=utf8mb4,gbk": true, "charset=utf8": true, "charset=utf8mb4": false,
		"collation=gbk_chinese_ci": true, "collation=utf8mb4_bin": false,
		"sql_mode=%27NO_BACKSLASH_ESCAPES%27": true, "multiStatements=true": true, "columnsWithAlias=true": true,
		"allowAllFiles=true": true, "character_set_client=gbk": true, "autocommit=0": true, "sql_select_limit=5": true,
		"tx_isolation=%27READ-UNCOMMITTED%27": true, "foreign_key_checks=0": true, "unknown=" + secret: true,
		"interpolateParams=true": false, "parseTime=true&loc=Local": false, "timeout=1s&tls=skip-verify": false,
		"innodb_lock_wait_timeout=2": false, "max_statement_time=10": false, "wsrep_sync_wait=1": false,
	} {
		err := sqldb.CheckMySQL("u:" + secret + "@tcp(h:1)/redrain?" + option)
		var why *sqldb.OptionError
		if errors.As(err, &why) != refused || (err != nil) != refused {
			t.Errorf("%s: %v", option, err)
			continue
		}
		if refused && (!strings.HasPrefix(option, why.Option) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%s is refused with %q", option, err)
		}
	}
}

// hostile are texts that end a quoted literal in some character set or SQL mode.
var hostile = []string{
	"\xbf' OR 1=1 -- ", "\xbf\\' OR 1=1 -- ", "\x81\\", `\`, `\'`, `'`, `''`, `"`, "`", "?", "a?b", "\x00", "😀'",
	"\xe4", "_utf8mb4 x'61'", "é", "",
}

// TestTextsStayTextsInEverySession: whatever the session's SQL mode, no text becomes SQL, and each is found again byte
// by byte.
func TestTextsStayTextsInEverySession(t *testing.T) {
	t.Parallel()
	db := testenv.Got(sqldb.OpenMySQL(testenv.MySQL(t))).Must(t)
	t.Cleanup(func() { _ = db.Close() })
	testenv.Must(t, db.Migrate(t.Context()))
	for _, session := range []string{"DO 0", "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'"} {
		err := db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			if _, err := tx.Exec(ctx, session); err != nil {
				return err
			}
			for i, text := range hostile {
				_, err := tx.Exec(ctx, "INSERT INTO balance (account_id, amount) VALUES (?, ?)", text, i)
				if err != nil {
					t.Errorf("%s: %q: %v", session, text, err)
				}
			}
			for i, text := range hostile {
				var n, got int
				var id []byte
				if _, err := tx.First(ctx, []any{&n, &got, &id}, "SELECT COUNT(*), MIN(amount), MIN(account_id) "+
					"FROM balance WHERE account_id = ?", text); err != nil || n != 1 || got != i || string(id) != text {
					t.Errorf("%s: %q finds %d rows, %d, %q, %v", session, text, n, got, id, err)
				}
			}
			_, err := tx.Exec(ctx, "DELETE FROM balance WHERE account_id <> 'world'")
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", session, err)
		}
	}
}

// TestEveryConnectionHasItsLimits reads back a connection's settings.
func TestEveryConnectionHasItsLimits(t *testing.T) {
	t.Parallel()
	db, err := sqldb.OpenMySQL(testenv.MySQL(t) + "?max_statement_time=77")
	testenv.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	var wait, idle, statement float64
	var mode, names, isolation, zone string
	const ask = "SELECT @@innodb_lock_wait_timeout, @@idle_transaction_timeout, @@max_statement_time, @@sql_mode, " +
		"@@character_set_client, @@tx_isolation, @@time_zone"
	err = db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.First(ctx, []any{&wait, &idle, &statement, &mode, &names, &isolation, &zone}, ask)
		return err
	})
	if err != nil || wait < 1 || wait > 5 || idle < 1 || idle >= wait || statement != 77 || names != "utf8mb4" ||
		mode != "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION" || isolation != "READ-COMMITTED" || zone != "+00:00" {
		t.Errorf("lock wait %v, idle %v, statement %v, mode %s, names %s, isolation %s, zone %s, %v", wait, idle,
			statement, mode, names, isolation, zone, err)
	}
}
