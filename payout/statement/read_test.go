package statement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"redrain/internal/testenv"
	"redrain/payout/statement"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// short is a line in short.
func short(l statement.Line) string {
	if l.Fault != "" {
		return fmt.Sprintf("%d fault", l.Number)
	}
	return fmt.Sprintf("%d %s %d %s %s", l.Number, strings.Join(l.Names, "|"), int64(l.Amount), l.State, l.Currency)
}

// wechat has the columns of a WeChat bill, whose cells begin with ` and which ends with a summary.
var wechat = statement.Format{End: "总", Columns: map[string]string{"key": "商家单号", "reference": "转账单号", "amount": "金额",
	"state": "状态"}}

const wechatBill = "微信支付商户账单\n起始时间：2026-11-22\n\n转账时间,商家单号,转账单号,金额,状态\n" +
	"`2026-11-22 10:00:00,`w1,`4200001,`¥1,234.50,`支付成功\n" +
	"`2026-11-22 10:00:01,`w2,`4200002,\"`¥1,234.50\",`支付成功\n" +
	"`2026-11-22 10:00:02,`w3,`4200003,`0.01,`已退款\n总笔数,总金额\n`3,`1234.51\n"

func TestReadCSV(t *testing.T) {
	t.Parallel()
	gbk := func(s string) string {
		text, err := simplifiedchinese.GB18030.NewEncoder().String(s)
		testenv.Must(t, err)
		return text
	}
	utf16 := func(s string) string {
		text, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(s)
		testenv.Must(t, err)
		return text
	}
	bill := []string{"5 fault", "6 w2|4200002 123450 paid ", "7 w3|4200003 1 returned "} // w1 has an unquoted comma
	for name, c := range map[string]struct {
		text   string
		format statement.Format
		want   []string // nil: it is refused
	}{
		"plain":             {"key,amount\nw1,1.5\n", statement.Format{}, []string{"2 w1 150 paid "}},
		"another order":     {"amount,x,key\n1.5,?,w1\n", statement.Format{}, []string{"2 w1 150 paid "}},
		"semicolons":        {"key;amount;currency\nw1;1.50;cny\n", statement.Format{}, []string{"2 w1 150 paid CNY"}},
		"a mark":            {"\xef\xbb\xbfkey,amount\r\nw1,1\r\n", statement.Format{}, []string{"2 w1 100 paid "}},
		"UTF-16":            {utf16("key,amount\nw1,1\n"), statement.Format{}, []string{"2 w1 100 paid "}},
		"WeChat's, UTF-8":   {wechatBill, wechat, bill},
		"WeChat's, GBK":     {gbk(wechatBill), wechat, bill},
		"for a spreadsheet": {"key,amount\n=\"0012\",\"1,000\"\n", statement.Format{}, []string{"2 0012 100000 paid "}},
		"comments, blanks": {"# of yesterday\n\nkey,amount\n\n# one\nw1,1\n,\n", statement.Format{},
			[]string{"6 w1 100 paid "}},
		"columns too few": {"key,amount,state\nw1,1\nw2,2,paid\n", statement.Format{},
			[]string{"2 fault", "3 w2 200 paid "}},
		"columns too many": {"key,amount\nw1,1,234.50\n", statement.Format{}, []string{"2 fault"}},
		"no name":          {"key,amount\n,1\n", statement.Format{}, []string{"2 fault"}},
		"an unknown state": {"key,amount,state\nw1,1,vielleicht\n", statement.Format{}, []string{"2 fault"}},
		"smallest units": {"key,amount\nw1,150\nw2,1.5\n", statement.Format{Minor: true},
			[]string{"2 w1 150 paid ", "3 fault"}},
		"nothing but a head": {"key,amount\n", statement.Format{}, []string{}},
		"empty":              {"", statement.Format{}, nil},
		"no header":          {"w1,1\n", statement.Format{}, nil},
		"two keys":           {"key,amount,key\nw1,1,w2\n", statement.Format{}, nil},
		"a column missing": {"key,amount\nw1,1\n",
			statement.Format{Columns: map[string]string{"state": "Zustand"}}, nil},
		"neither encoding": {"key,amount\nw\xff1,1\n", statement.Format{}, nil},
		"an open quote":    {"key,amount\n\"w1,1\n", statement.Format{}, []string{"2 fault"}},
	} {
		lines, err := statement.Read([]byte(c.text), c.format)
		got := []string{}
		for _, l := range lines {
			got = append(got, short(l))
		}
		if (err != nil) != (c.want == nil) || err == nil && !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "1": 100, "1.": 100, "1.5": 150, "1.50": 150, "1.500": 150, "1,234.50": 123450, "1,234,567": 123456700,
		"¥12.00": 1200, "-¥12.00": 1200, "¥-12": 1200, "+3": 300, " `7.00\t": 700,
		"1.005": -1, "1,23": -1, "1.234,50": -1, "12,34.5": -1, ".5": -1, "": -1, "-": -1, "--1": -1, "-¥-1": -1,
		"1e3": -1,
		"NaN": -1, "0x10": -1, "１２": -1, "99999999999999999999": -1, "9223372036854775807": -1, "1 000": -1,
		"12 CNY": -1,
	} {
		lines, err := statement.Read([]byte("key;amount\nw1;\""+text+"\"\n"), statement.Format{})
		if err != nil || len(lines) != 1 {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := int64(lines[0].Amount); want >= 0 && (got != want || lines[0].Fault != "") ||
			want < 0 && lines[0].Fault == "" {
			t.Errorf("%q: %d %q, want %d", text, got, lines[0].Fault, want)
		}
	}
}

// bomb defines an entity by many references to another.
const bomb = `<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>` +
	`<Document><BkToCstmrStmt><Stmt><Ntry><Amt Ccy="CNY">1</Amt><CdtDbtInd>CRDT</CdtDbtInd><AcctSvcrRef>&b;` +
	`</AcctSvcrRef></Ntry></Stmt></BkToCstmrStmt></Document>`

// batch is one entry of three payments. The last one has no amount of its own.
const batch = `<Document><BkToCstmrDbtCdtNtfctn><Ntfctn><Ntry><Amt Ccy="CNY">6.00</Amt><CdtDbtInd>DBIT</CdtDbtInd>` +
	`<Sts>BOOK</Sts><NtryDtls><TxDtls><Refs><EndToEndId>w1</EndToEndId></Refs><Amt Ccy="CNY">1.00</Amt></TxDtls>` +
	`<TxDtls><Refs><EndToEndId>w2</EndToEndId></Refs><AmtDtls><TxAmt><Amt Ccy="CNY">2.00</Amt></TxAmt></AmtDtls>` +
	`<RtrInf/></TxDtls><TxDtls><Refs><EndToEndId>w3</EndToEndId></Refs></TxDtls></NtryDtls></Ntry></Ntfctn>` +
	`</BkToCstmrDbtCdtNtfctn></Document>`

func TestReadCamt(t *testing.T) {
	t.Parallel()
	deep := "<Document><BkToCstmrStmt><Ntry>" + strings.Repeat("<a>", 200_000) + "</Ntry></BkToCstmrStmt></Document>"
	for name, c := range map[string]struct {
		text string
		want []string // nil: it is refused
	}{
		"a batch":    {batch, []string{"1 w1 100 paid CNY", "1 w2 200 returned CNY", "1 fault"}},
		"no entries": {"<Document><BkToCstmrStmt/></Document>", []string{}},
		"a bomb":     {bomb, nil},
		"deep":       {deep, nil},
		"cut off":    {batch[:len(batch)-40], nil},
		"another":    {"<html><body>log in</body></html>", nil},
		"GBK": {`<?xml version="1.0" encoding="GBK"?>` + batch,
			[]string{"1 w1 100 paid CNY", "1 w2 200 returned CNY", "1 fault"}},
		"a strange one": {`<?xml version="1.0" encoding="klingon"?>` + batch, nil},
	} {
		lines, err := statement.Read([]byte(c.text), statement.Format{})
		got := []string{}
		for _, l := range lines {
			got = append(got, short(l))
		}
		if (err != nil) != (c.want == nil) || err == nil && !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// TestHostileCells are read, or are a fault of their line.
func TestHostileCells(t *testing.T) {
	t.Parallel()
	for _, text := range testenv.HostileTexts() {
		for _, file := range []string{"key,amount\n" + text + ",1\n",
			"key,amount,state\nw1," + text + "," + text + "\n",
			text, "key,amount\n\"" + text + "\",1\nw2,1\n", "<Document>" + text} {
			_, _ = statement.Read([]byte(file), statement.Format{})
		}
	}
}

// FuzzRead: no file crashes the program, and no line has an amount below zero.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{wechatBill, batch, bomb, "key,amount\nw1,1\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []statement.Format{{}, wechat} {
			lines, _ := statement.Read(data, format)
			for _, l := range lines {
				if l.Amount < 0 || l.Fault == "" && l.State == "" {
					t.Errorf("%+v", l)
				}
			}
		}
	})
}
