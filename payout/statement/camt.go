package statement

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

// entry has the needed fields of a camt entry, in all versions of the three messages.
type entry struct {
	Amount   camtAmount `xml:"Amt"`
	Credit   string     `xml:"CdtDbtInd"`
	Reversal string     `xml:"RvslInd"`
	Status   struct {
		Text string `xml:",chardata"`
		Code string `xml:"Cd"` // from version 8 on
	} `xml:"Sts"`
	Reference string `xml:"AcctSvcrRef"`
	Details   []struct {
		Payments []camtPayment `xml:"TxDtls"`
	} `xml:"NtryDtls"`
}

// camtPayment is one payment of an entry. An entry may book several together.
type camtPayment struct {
	Refs struct {
		EndToEnd    string `xml:"EndToEndId"`
		Instruction string `xml:"InstrId"`
		Transaction string `xml:"TxId"`
		Servicer    string `xml:"AcctSvcrRef"`
	} `xml:"Refs"`
	Amount      camtAmount   `xml:"Amt"`
	Transaction camtAmount   `xml:"AmtDtls>TxAmt>Amt"`
	Credit      string       `xml:"CdtDbtInd"`
	Returned    *struct{}    `xml:"RtrInf"`
	Text        []string     `xml:"RmtInf>Ustrd"`
	Structured  []camtStrRef `xml:"RmtInf>Strd"`
}

type camtStrRef struct {
	Reference string `xml:"CdtrRefInf>Ref"`
}

type camtAmount struct {
	Text     string `xml:",chardata"`
	Currency string `xml:"Ccy,attr"`
}

// camtMessages are the messages with entries.
var camtMessages = []string{"BkToCstmrStmt", "BkToCstmrAcctRpt", "BkToCstmrDbtCdtNtfctn"}

var errNoCamt = errors.New("this XML is no camt.052, camt.053 or camt.054")

// readCamt reads a bank's statement. It refuses entities that a document defines, so it is safe from entity
// expansion.
func readCamt(data []byte) (lines []Line, err error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(charset string, input io.Reader) (io.Reader, error) {
		e, err := htmlindex.Get(charset)
		if err != nil {
			return nil, fmt.Errorf("unknown encoding %s", quote(charset))
		}
		return e.NewDecoder().Reader(input), nil
	}
	inside := false
	for entries := 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("invalid XML: %w", err)
		}
		start, ok := token.(xml.StartElement)
		switch {
		case !ok:
			continue
		case slices.Contains(camtMessages, start.Name.Local):
			inside = true
			continue
		case !inside || start.Name.Local != "Ntry":
			continue
		}
		var e entry
		if err := d.DecodeElement(&e, &start); err != nil {
			return nil, fmt.Errorf("invalid XML: %w", err)
		}
		entries++
		if lines = append(lines, e.lines(entries)...); len(lines) > mostLines {
			return nil, errTooLong
		}
	}
	if !inside {
		return nil, errNoCamt
	}
	return lines, nil
}

// lines returns the payments of an entry.
func (e *entry) lines(number int) (lines []Line) {
	var payments []camtPayment
	for _, d := range e.Details {
		payments = append(payments, d.Payments...)
	}
	if len(payments) == 0 {
		payments = []camtPayment{{}}
	}
	for _, p := range payments {
		lines = append(lines, e.line(number, p, len(payments) == 1))
	}
	return lines
}

// line returns one payment of an entry. An entry with several has only their sum.
func (e *entry) line(number int, p camtPayment, alone bool) Line {
	l := Line{Number: number}
	for _, name := range slices.Concat([]string{p.Refs.EndToEnd, p.Refs.Instruction, p.Refs.Transaction,
		p.Refs.Servicer, e.Reference}, p.references()) {
		if name = strings.TrimSpace(name); name != "" && name != "NOTPROVIDED" && !slices.Contains(l.Names, name) {
			l.Names = append(l.Names, name)
		}
	}
	said := e.Amount
	switch {
	case p.Amount.Text != "":
		said = p.Amount
	case alone:
	case p.Transaction.Text != "":
		said = p.Transaction
	default:
		l.Fault = "it is one of several payments of an entry, and has no amount of its own"
		return l
	}
	amount, negative, err := parseAmount(said.Text, false)
	if err == nil && negative {
		err = errNoAmount
	}
	if err == nil {
		l.State, err = stateOf(e.Status.Code + strings.TrimSpace(e.Status.Text))
	}
	credit := strings.TrimSpace(p.Credit)
	if credit == "" {
		credit = strings.TrimSpace(e.Credit)
	}
	if err == nil && credit != "CRDT" && credit != "DBIT" {
		err = fmt.Errorf("%s is neither CRDT nor DBIT", quote(credit))
	}
	if err != nil {
		l.Fault = err.Error()
		return l
	}
	l.Amount, l.Currency, l.Incoming = amount, strings.ToUpper(strings.TrimSpace(said.Currency)), credit == "CRDT"
	l.Signed = true
	if reversal := strings.TrimSpace(e.Reversal); l.State == Done && (reversal == "true" || reversal == "1" ||
		p.Returned != nil) {
		// A reversal goes in the other direction.
		l.State, l.Incoming = Returned, !l.Incoming
	}
	return l
}

// references returns the payer's references: a reference, or a text with one among its words.
func (p camtPayment) references() (names []string) {
	for _, s := range p.Structured {
		names = append(names, s.Reference)
	}
	names = append(names, p.Text...)
	if len(p.Text) > 1 {
		names = append(names, strings.Join(p.Text, ""))
	}
	for _, text := range p.Text {
		names = append(names, strings.FieldsFunc(text, func(r rune) bool {
			return strings.ContainsRune(" \t\r\n,;:", r)
		})...)
	}
	return names
}
