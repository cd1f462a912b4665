package sqldb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// ErrNoDatabase is returned for a DSN that names no database.
var ErrNoDatabase = errors.New("it names no database")

// An OptionError is an option of a DSN that would change the meaning of statements. It has no value, because there
// may be a secret in it.
type OptionError struct{ Option, Why string }

// Error returns the remedy.
func (e *OptionError) Error() string { return fmt.Sprintf("leave out %s: %s", e.Option, e.Why) }

// CheckMySQL returns an error for a DSN that OpenMySQL refuses: ErrNoDatabase, an *OptionError, or a syntax error.
func CheckMySQL(dsn string) error {
	_, err := parseDSN(dsn)
	return err
}

func parseDSN(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	if cfg.DBName == "" {
		return nil, ErrNoDatabase
	}
	return cfg, checkOptions(cfg, dsn)
}

// freeVariables are the server's variables that a DSN may set, because they limit statements and do not change their
// meaning. The others are set by redrain (see server.session) or not supported.
var freeVariables = []string{
	"innodb_lock_wait_timeout", "max_execution_time", "max_statement_time", "wsrep_sync_wait",
}

func checkOptions(cfg *mysql.Config, dsn string) error {
	switch {
	case !utf8Only(dsn):
		return &OptionError{"charset", "redrain speaks utf8mb4 with every server"}
	case cfg.Collation != "" && !strings.HasPrefix(cfg.Collation, "utf8mb4_"):
		return &OptionError{"collation", "redrain speaks utf8mb4 with every server"}
	case cfg.MultiStatements:
		return &OptionError{"multiStatements", "a statement must stay one statement"}
	case cfg.ColumnsWithAlias:
		return &OptionError{"columnsWithAlias", "it renames the columns of answers"}
	case cfg.AllowAllFiles:
		return &OptionError{"allowAllFiles", "it lets the server read this machine's files"}
	}
	for name := range cfg.Params {
		if !slices.Contains(freeVariables, name) {
			return &OptionError{name, "redrain sets the variables of its connections itself; a DSN may set " +
				strings.Join(freeVariables, ", ")}
		}
	}
	return nil
}

// utf8Only checks the DSN's charsets, which the driver's Config hides.
func utf8Only(dsn string) bool {
	_, options, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?")
	for option := range strings.SplitSeq(options, "&") {
		if name, value, _ := strings.Cut(option, "="); name == "charset" && value != "utf8mb4" {
			return false
		}
	}
	return true
}

func prepareConfig(cfg *mysql.Config) {
	cfg.InterpolateParams = false // see textConn
	cfg.ClientFoundRows = true
	cfg.Logger = &mysql.NopLogger{} // the errors say the same
	if cfg.Timeout == 0 {
		cfg.Timeout = 3 * time.Second
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = 30 * time.Second // longer than any intended statement; contexts limit the shorter ones
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = 5 * time.Second
	}
}
