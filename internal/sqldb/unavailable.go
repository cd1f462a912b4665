package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// Error numbers of MySQL and MariaDB for a server that comes or goes.
var mysqlAbsent = []uint16{
	1040, // too many connections
	1053, // shutdown in progress
	1290, // read only: a replica that was or becomes the primary
	1927, // the connection was killed
	3024, // the statement took too long
}

// IsUnavailable tells whether an error is the database's absence, which passes by itself.
func IsUnavailable(err error) bool {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return slices.Contains(mysqlAbsent, e.Number)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) ||
		errors.Is(err, context.DeadlineExceeded)
}
