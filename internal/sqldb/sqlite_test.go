package sqldb_test

import (
	"os"
	"path/filepath"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// TestTheFileIsItsOwners: a ledger holds the seeds of future rains and the keys of the seals. Its directory may be
// readable for all users of the machine.
func TestTheFileIsItsOwners(t *testing.T) {
	dir := t.TempDir()
	db := testenv.Got(sqldb.OpenSQLite(filepath.Join(dir, "ledger.db"))).Must(t)
	defer func() { _ = db.Close() }()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		is := testenv.Got(file.Info()).Must(t)
		testenv.Equal(t, is.Mode().Perm()&0o077, 0, "%s is %v", file.Name(), is.Mode())
	}
}
