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

// Format has the options for reading a statement.
type Format struct {
	// Columns maps fields (key, reference, amount, currency, state) to the headers of a CSV's columns. A field that
	// is not in the map has its own name as its header. Only key and amount are required.
	Columns map[string]string
	Minor   bool   // amounts are in the smallest unit of the currency, fen or cents
	End     string // prefix of the first cell of the row after the last payment, a summary; "" = none
}

// Fields are the possible fields of a CSV.
var Fields = []string{"key", "reference", "amount", "currency", "state"}

// The limits of a file. The caller limits its size.
const (
	mostLines    = 1_000_000
	mostPreamble = 100 // lines before the header
)

// Errors of unreadable files.
var (
	errTooLong = fmt.Errorf("a statement has at most %d payments; take a shorter period", mostLines)
	errEmpty   = errors.New("the file has no payments and no header")
)

// Read reads a statement. An unreadable payment is a line with a fault. An error means that the whole file is
// unreadable.
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

// header has the index of each field in a row; -1 if it is missing.
type header struct {
	at      map[string]int
	columns int
}

func readCSV(text []byte, f Format) (lines []Line, err error) {
	rows := csv.NewReader(bytes.NewReader(text))
	rows.FieldsPerRecord = -1
	rows.LazyQuotes = true // a wrong number of columns shows wrong quotes
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
			return nil, fmt.Errorf("invalid CSV: %w", err)
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

// name returns the header of a field's column.
func (f Format) name(field string) string {
	if name := f.Columns[field]; name != "" {
		return name
	}
	return field
}

// header reads the row with the columns' names. It returns nil for any other row.
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
