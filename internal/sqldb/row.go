package sqldb

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Row takes the values of one row of [Tx.InsertEach], in the order of the columns.
//
// For MySQL, Row writes the values into the statement itself, because a list of arguments makes more garbage. Text is
// written in hexadecimal, x'61': it needs no escapes, and the server reads it faster than a quoted string. It is twice
// as long, though, and servers limit the size of a statement. So the driver quotes long values.
type Row struct {
	dialect Dialect
	text    []byte // the statement so far
	args    []any  // the parameters so far; MySQL: long values only
	values  int    // of this row so far

	key  int      // which value is the key; -1 for none
	keys [][2]int // the keys' places in text
}

// Int puts an integer.
func (r *Row) Int(n int64) {
	if r.dialect == SQLite {
		r.argument(n)
		return
	}
	start := r.next()
	r.text = strconv.AppendInt(r.text, n, 10)
	r.put(start)
}

// Text puts a text, given in one or several parts.
func (r *Row) Text(parts ...string) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if r.isLong(size) {
		r.argument(strings.Join(parts, ""))
		return
	}
	start := r.next()
	r.text = append(r.text, 'x', '\'')
	for _, part := range parts {
		r.text = appendHex(r.text, part)
	}
	r.text = append(r.text, '\'')
	r.put(start)
}

// Bytes puts a blob.
func (r *Row) Bytes(b []byte) {
	if r.isLong(len(b)) {
		r.argument(b)
		return
	}
	start := r.next()
	r.text = append(r.text, 'x', '\'')
	r.text = hex.AppendEncode(r.text, b)
	r.text = append(r.text, '\'')
	r.put(start)
}

func (r *Row) null() {
	if r.dialect == SQLite {
		r.argument(nil)
		return
	}
	start := r.next()
	r.text = append(r.text, "NULL"...)
	r.put(start)
}

// longValue is the size in bytes from which a text or a blob counts as long.
const longValue = 4 << 10

// isLong reports whether a value becomes a parameter. On MySQL a key never does: InsertReading needs its text.
func (r *Row) isLong(size int) bool {
	return r.dialect == SQLite || size >= longValue && r.values != r.key
}

func (r *Row) argument(value any) {
	start := r.next()
	r.text = append(r.text, '?')
	r.args = append(r.args, value)
	r.put(start)
}

func (r *Row) next() (start int) {
	if r.values > 0 {
		r.text = append(r.text, ',')
	}
	return len(r.text)
}

func (r *Row) put(start int) {
	if r.values == r.key {
		r.keys = append(r.keys, [2]int{start, len(r.text)})
	}
	r.values++
}

func (r *Row) any(value any) error {
	value, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return err
	}
	switch v := value.(type) {
	case nil:
		r.null()
	case int64:
		r.Int(v)
	case bool:
		if v {
			r.Int(1)
		} else {
			r.Int(0)
		}
	case string:
		r.Text(v)
	case []byte:
		r.Bytes(v)
	default:
		return fmt.Errorf("sqldb: a row has a %T", value)
	}
	return nil
}

func appendHex(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	for i := range len(s) {
		b = append(b, digits[s[i]>>4], digits[s[i]&15])
	}
	return b
}

// rows holds Rows for reuse, whose buffers have grown to the size of a batch.
var rows = sync.Pool{New: func() any { return new(Row) }}

// keepText is the largest buffer in bytes that is kept for reuse: far more than a batch of ordinary names needs.
const keepText = 1 << 20

func takeRow(d Dialect, key int) *Row {
	r, _ := rows.Get().(*Row)
	r.dialect, r.key = d, key
	r.reset()
	return r
}

func (r *Row) reset() {
	r.text, r.args, r.keys = r.text[:0], r.args[:0], r.keys[:0]
}

func (r *Row) giveBack() {
	if cap(r.text) > keepText {
		return
	}
	clear(r.args) // they hold inserted values
	rows.Put(r)
}
