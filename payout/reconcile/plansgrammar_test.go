package reconcile_test

import (
	"testing"

	"github.com/pingcap/tidb/pkg/parser"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // what the parser keeps values in
)

// checkGrammar has a parser of MySQL's grammar read all that the ledger has asked MariaDB, so that MySQL 8, which the
// tests do not run on, understands it too.
func checkGrammar(t *testing.T, all []statement) {
	t.Helper()
	grammar := parser.New()
	for _, s := range all {
		if _, _, err := grammar.Parse(s.text, "", ""); err != nil {
			t.Errorf("MySQL 8 does not know the grammar of %s:%d: %v\n\t%s", s.at.file, s.at.line, err, s.text)
		}
	}
	if len(all) < 50 {
		t.Errorf("%d statements: what is heard is not what is asked", len(all))
	}
}
