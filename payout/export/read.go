package export

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"strconv"
)

// ErrNoExport is returned for a file that is no export, or not a whole one.
var ErrNoExport = errors.New("this is no whole export of a campaign")

// row is one of a file.
type row struct {
	table   string
	columns []string
	values  []value
}

func (r row) of(column string) sql.NullString {
	if i := slices.Index(r.columns, column); i >= 0 {
		return sql.NullString(r.values[i])
	}
	return sql.NullString{}
}

func (r row) text(column string) string { return r.of(column).String }

// noNumber stands for a text that is no integer. Every check of it fails.
const noNumber = math.MinInt64

// number is a column's whole number, written as databases do.
func (r row) number(column string) int64 {
	n, err := strconv.ParseInt(r.text(column), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != r.text(column) {
		return noNumber
	}
	return n
}

// known are the columns of the tables of a file, by table.
var known = func() map[string][]string {
	all := map[string][]string{}
	for _, t := range wholeTables {
		all[t.name] = t.columns
	}
	for _, t := range []table{txns, entries, payouts, audits} {
		all[t.name] = t.columns
	}
	return all
}()

// maxLine is how long a line may be: a dead letter has a payload of 64 KB, a list of amounts 10 MB and more.
const maxLine = 256 << 20

// read calls begin for each heading and each for each row. It fills in h before the first row. It returns ErrNoExport
// if the file is no export, or is incomplete.
func read(from io.Reader, h *Header, begin func(table string), each func(row)) (t Trailer, err error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	r := reader{header: h, begin: begin, each: each, sum: sha256.New()}
	for lines.Scan() {
		last, err := r.line(lines.Bytes())
		switch {
		case err != nil:
			return t, fmt.Errorf("%w: line %d %w", ErrNoExport, r.lines, err)
		case last && lines.Scan():
			return t, fmt.Errorf("%w: something follows its last line", ErrNoExport)
		case last && lines.Err() == nil:
			return r.trailer, nil
		}
	}
	if err := lines.Err(); err != nil {
		return t, fmt.Errorf("%w: %w", ErrNoExport, err)
	}
	return t, fmt.Errorf("%w: it ends in the middle", ErrNoExport)
}

// reader reads a file line by line.
type reader struct {
	header  *Header
	trailer Trailer
	begin   func(table string)
	each    func(row)
	at      heading
	sum     hash.Hash // of the lines before
	lines   int
	rows    int64
}

// line takes a line; last tells whether it is the trailer.
func (r *reader) line(line []byte) (last bool, err error) {
	r.lines++
	switch {
	case r.lines == 1:
		if err := json.Unmarshal(line, r.header); err != nil || r.header.Version != version {
			return false, errors.New("is not that of an export that this version of redrain reads")
		}
	case bytes.HasPrefix(line, []byte("[")):
		of := row{table: r.at.Table, columns: r.at.Columns}
		if err := json.Unmarshal(line, &of.values); err != nil || len(of.values) != len(of.columns) {
			return false, fmt.Errorf("is no row of the table %q", r.at.Table)
		}
		r.rows++
		r.each(of)
	case bytes.HasPrefix(line, []byte(`{"table"`)):
		r.at = heading{}
		if err := json.Unmarshal(line, &r.at); err != nil || !slices.Equal(known[r.at.Table], r.at.Columns) {
			return false, fmt.Errorf("table %q: unknown columns; use the redrain version that wrote the file",
				r.at.Table)
		}
		r.begin(r.at.Table)
	default:
		if err := json.Unmarshal(line, &r.trailer); err != nil || r.trailer.SHA256 == "" {
			return false, errors.New("cannot be read")
		}
		if is := hex.EncodeToString(r.sum.Sum(nil)); is != r.trailer.SHA256 || r.rows != r.trailer.Rows {
			return false, fmt.Errorf("says that there are %d rows with the hash %s, and there are %d with %s",
				r.trailer.Rows, r.trailer.SHA256, r.rows, is)
		}
		return true, nil
	}
	r.sum.Write(line) // a hash never fails
	r.sum.Write([]byte{'\n'})
	return false, nil
}
