package sqldb_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// TestErrorsThatPass: a server that is away, or busy, is no fault of the statement.
func TestErrorsThatPass(t *testing.T) {
	t.Parallel()
	number := func(n uint16) error { return &mysql.MySQLError{Number: n} }
	for err, want := range map[error]string{
		number(1045): "away", number(1698): "away", number(1820): "away", // the password changes
		number(1047): "away",                                                                   // Galera
		number(1040): "away", number(1053): "away", number(1203): "away", number(1226): "away", // full or ending
		number(1290): "away", number(1792): "away", number(1836): "away", // read only
		number(2006): "away", number(2013): "away", number(9001): "away", // of proxies
		number(1021): "away", number(1114): "away", // a full disk
		driver.ErrBadConn: "away", mysql.ErrInvalidConn: "away", context.DeadlineExceeded: "away",
		number(1205): "busy", number(1213): "busy", number(1020): "busy", sqldb.ErrAgain: "busy",
		number(1062): "refused", number(1690): "refused", number(4025): "refused",
		number(1146): "", number(1142): "", number(1064): "", errors.New("other"): "",
	} {
		got := ""
		wrapped := fmt.Errorf("commit: %w", err)
		for name, is := range map[string]func(error) bool{
			"away": sqldb.IsUnavailable, "busy": sqldb.IsBusy, "refused": sqldb.IsRefused,
		} {
			if is(wrapped) {
				got += name
			}
		}
		testenv.Equal(t, got, want, "%v", err)
	}
}
