package sqldb

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mysqlConn is the interface of a connection of the MySQL driver.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// textConn writes arguments into statements, because a prepared statement would cost another round trip. The driver
// can do that too, with quotes and escapes, whose meaning depends on the character set and the SQL mode. Here a text
// is written in hexadecimal: no byte of it can end it in any session. Statements with a long value are prepared,
// because servers limit a statement's size.
type textConn struct{ mysqlConn }

// ExecContext implements driver.ExecerContext.
func (c textConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	whole, ok := inline(query, args)
	if !ok {
		return nil, driver.ErrSkip // database/sql prepares it
	}
	return c.mysqlConn.ExecContext(ctx, whole, nil)
}

// QueryContext implements driver.QueryerContext.
func (c textConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	whole, ok := inline(query, args)
	if !ok {
		return nil, driver.ErrSkip
	}
	return c.mysqlConn.QueryContext(ctx, whole, nil)
}

// inline writes arguments in the places of the question marks. ok is false for an unsupported argument or a wrong
// number of them.
func inline(query string, args []driver.NamedValue) (whole string, ok bool) {
	if len(args) == 0 {
		return query, true
	}
	size := len(query)
	for i := range args {
		switch v := args[i].Value.(type) {
		case string:
			size += 2*len(v) + len("_utf8mb4 x''")
		case []byte:
			size += 2*len(v) + len("x''")
		default:
			size += 20
		}
	}
	b := make([]byte, 0, size)
	for i := range args {
		before, after, found := strings.Cut(query, "?")
		if !found {
			return "", false
		}
		b = append(b, before...)
		if b, ok = appendValue(b, args[i].Value); !ok {
			return "", false
		}
		query = after
	}
	if strings.IndexByte(query, '?') >= 0 {
		return "", false
	}
	return string(append(b, query...)), true
}

func appendValue(b []byte, value driver.Value) (_ []byte, ok bool) {
	switch v := value.(type) {
	case nil:
		return append(b, "NULL"...), true
	case int64:
		return strconv.AppendInt(b, v, 10), true
	case uint64:
		return strconv.AppendUint(b, v, 10), true
	case bool:
		if v {
			return append(b, '1'), true
		}
		return append(b, '0'), true
	case string:
		if len(v) >= longValue {
			return b, false
		}
		if utf8.ValidString(v) { // a text, so that a key of texts can be used to find it
			b = append(b, "_utf8mb4 "...)
		}
		b = append(b, "x'"...)
		b = appendHex(b, v)
		return append(b, '\''), true
	case []byte:
		if len(v) >= longValue {
			return b, false
		}
		if v == nil {
			return append(b, "NULL"...), true
		}
		b = append(b, "x'"...)
		b = hex.AppendEncode(b, v)
		return append(b, '\''), true
	}
	return b, false
}

// Storable converts any text of another system, such as a payment's, to readable text for a column of n bytes or
// characters in every database. Bytes of invalid UTF-8, such as lone surrogates, and a NUL are written as \xff and
// \x00. A text that is too long is cut between two characters. Any other text is unchanged.
func Storable(s string, n int) string {
	if len(s) <= n && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		piece := s[:size]
		if r == 0 || r == utf8.RuneError && size == 1 {
			piece = fmt.Sprintf(`\x%02x`, s[0])
		}
		if b.Len()+len(piece) > n {
			break
		}
		b.WriteString(piece)
		s = s[size:]
	}
	return b.String()
}
