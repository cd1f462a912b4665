package sqldb_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/pingcap/tidb/pkg/parser"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // keeps the parser's values

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// withoutComments matches the comments of SQL, to remove them.
var withoutComments = regexp.MustCompile(`-- .*`)

// beyond matches syntax that the parser accepts and MySQL rejects.
var beyond = regexp.MustCompile(`(?i)(INDEX|COLUMN)\s+IF\s+(NOT\s+)?EXISTS`)

// TestMySQLKnowsTheGrammar: the tests run on MariaDB. So a parser of MySQL's grammar reads the statements of this
// package for MySQL 8. These are migrations, the setup of a connection, arguments, and every kind of INSERT. The
// ledger's statements are recorded and parsed in payout/reconcile.
func TestMySQLKnowsTheGrammar(t *testing.T) {
	t.Parallel()
	grammar := parser.New()
	for _, only := range []string{"INSERT INTO t (a) VALUES (1) RETURNING a",
		"SELECT a FROM t LIMIT ROWS EXAMINED 5",
		"CREATE TABLE t (a UUID)",
		"INSERT INTO t (a) VALUES (1) ON CONFLICT DO NOTHING"} {
		if _, _, err := grammar.Parse(only, "", ""); err == nil {
			t.Errorf("the parser takes for MySQL's: %s", only)
		}
	}
	statements := sqldb.Session("8.0.36")
	files, err := sqldb.MigrationsOf("mysql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d migrations, %v", len(files), err)
	}
	for _, text := range files {
		statements = append(statements, withoutComments.ReplaceAllString(text, ""))
	}
	for _, merge := range []sqldb.Merge{{}, {Key: []string{"a"}}, {Key: []string{"a"}, Add: []string{"b", "c"}},
		{Key: []string{"a"}, Set: []string{"b"}}, {Key: []string{"a"}, Larger: []string{"b", "c"}}} {
		statements = append(statements, "INSERT INTO t (a, b, c, d) VALUES "+sqldb.MySQLRow()+","+sqldb.MySQLRow()+
			merge.MySQLTail())
	}
	for _, statement := range statements {
		_, _, err := grammar.Parse(statement, "", "")
		if err == nil && beyond.MatchString(statement) {
			err = errors.New("the parser is TiDB's, which knows this too")
		}
		if err != nil || statement == "" {
			t.Errorf("MySQL does not know the grammar of this: %v\n%s", err, statement)
		}
	}
}

// TestWhatOneServerOnlyKnows is said to that one only.
func TestWhatOneServerOnlyKnows(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]map[string]bool{
		"8.0.36": {"SESSION wait_timeout = 8": true, " idle_transaction_": false,
			" check_constraint_": false},
		"8.4.0": {"SESSION wait_timeout = 8": true, " idle_transaction_": false,
			" check_constraint_": false},
		"10.11.6-MariaDB": {" idle_transaction_timeout = 3": true, " wait_timeout": false,
			" check_constraint_": true},
		"11.4.2-MariaDB-ubu24": {" idle_transaction_timeout = 3": true, " wait_timeout": false,
			" check_constraint_": true},
	} {
		all := strings.Join(sqldb.Session(version), "; ")
		for name, is := range want {
			testenv.Equal(t, strings.Contains(all, name), is, "%s: %s in %q", version, name, all)
		}
		for _, name := range []string{"tx_isolation", "transaction_isolation"} {
			if strings.Contains(all, name) { // each has another one
				t.Errorf("%s: %s", version, all)
			}
		}
	}
}
