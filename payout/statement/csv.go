package statement

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format says how a statement is read.
type Format struct {
	// Columns are the headers of a CSV's columns, by what is in them: key, reference, amount, currency, state. A column
	// that is not named here has its own name as its header; only key and amount must be there.
	Columns map[string]string
	Minor   bool   // amounts are in the smallest unit of the currency, fen or cents
	End     string // with what the first cell of a row begins after which no payments come: a summary; "" = none
}

// Fields are what the columns of a CSV can be.
var Fields = []string{"key", "reference", "amount", "currency", "state"}

// The limits of a file. Its size is limited where it comes in.
const (
	mostLines    = 1_000_000
	mostPreamble = 100 // lines before the header
)

// Errors of files that cannot be read at all.
var (
	errTooLong = fmt.Errorf("a statement has at most %d payments; take a shorter period", mostLines)
	errEmpty   = errors.New("the file has no payments and no header")
)

// Read reads a statement. A payment that cannot be read is a line with a fault; the error is of a file that makes no
// sense as a whole.
func Read(data []byte, f Format) ([]Line, error) {
	if start := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n"); bytes.HasPrefix(start,
		[]byte("<")) {
		return readCamt(start)
	}
	text, err := decodeText(data)
	if err != nil {
		return nil, err
	}
	return readCSV(text, f)
}

// header is where each field stands in a row; -1 for one that is not there.
type header struct {
	at      map[string]int
	columns int
}

func readCSV(text []byte, f Format) (lines []Line, err error) {
	rows := csv.NewReader(bytes.NewReader(text))
	rows.FieldsPerRecord = -1
	rows.LazyQuotes = true // what a quote means is seen where the number of columns is wrong
	rows.ReuseRecord = true
	rows.Comment = '#'
	if first, _, _ := bytes.Cut(text, []byte("\n")); bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")) {
		rows.Comma = ';'
	}
	var head *header
	for before := 0; ; {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		number, _ := rows.FieldPos(0)
		if err != nil {
			return nil, fmt.Errorf("this is no CSV: %w", err)
		}
		if head == nil {
			if head, err = f.header(row); err != nil {
				return nil, err
			}
			if before++; head == nil && before > mostPreamble {
				return nil, f.noHeader()
			}
			continue
		}
		if f.End != "" && strings.HasPrefix(clean(row[0]), f.End) {
			break
		}
		if isBlank(row) {
			continue
		}
		if len(lines) == mostLines {
			return nil, errTooLong
		}
		lines = append(lines, f.line(head, number, row))
	}
	if head == nil {
		if len(bytes.TrimSpace(text)) == 0 {
			return nil, errEmpty
		}
		return nil, f.noHeader()
	}
	return lines, nil
}

func isBlank(row []string) bool {
	return !slices.ContainsFunc(row, func(cell string) bool { return clean(cell) != "" })
}

// name is the header of a field's column.
func (f Format) name(field string) string {
	if name := f.Columns[field]; name != "" {
		return name
	}
	return field
}

// header reads the row that names the columns; nil where this is another.
func (f Format) header(row []string) (*header, error) {
	h := &header{at: map[string]int{}, columns: len(row)}
	for _, field := range Fields {
		h.at[field] = -1
		for i, cell := range row {
			if !strings.EqualFold(clean(cell), f.name(field)) {
				continue
			}
			if h.at[field] >= 0 {
				return nil, fmt.Errorf("two columns are named %s", quote(f.name(field)))
			}
			h.at[field] = i
		}
	}
	if h.at["key"] < 0 || h.at["amount"] < 0 {
		return nil, nil
	}
	for field := range f.Columns {
		if at, known := h.at[field]; known && at < 0 {
			return nil, fmt.Errorf("no column is named %s", quote(f.Columns[field]))
		}
	}
	return h, nil
}

func (f Format) noHeader() error {
	return fmt.Errorf("no line names the columns %s and %s; give the names that yours have (columns key=…,amount=…)",
		quote(f.name("key")), quote(f.name("amount")))
}

// line reads a payment.
func (f Format) line(h *header, number int, row []string) Line {
	l := Line{Number: number}
	cell := func(field string) string {
		if at := h.at[field]; at >= 0 && at < len(row) {
			return row[at]
		}
		return ""
	}
	for _, field := range []string{"key", "reference"} {
		if name := clean(cell(field)); name != "" {
			l.Names = append(l.Names, strings.Clone(name))
		}
	}
	if len(row) != h.columns {
		l.Fault = fmt.Sprintf("it has %d columns, and the header %d", len(row), h.columns)
		return l
	}
	if len(l.Names) == 0 {
		l.Fault = "it names no payment"
		return l
	}
	amount, negative, err := parseAmount(cell("amount"), f.Minor)
	if err == nil {
		l.State, err = stateOf(cell("state"))
	}
	if err != nil {
		l.Fault = err.Error()
		return l
	}
	l.Amount, l.Incoming, l.Currency = amount, !negative, strings.ToUpper(clean(cell("currency")))
	return l
}
