package statement

import (
	"errors"
	"strings"

	"redrain/rain"
)

// Line is one payment of a statement.
type Line struct {
	Number   int      // its line in the file, or its place among the entries, from 1
	Names    []string // what it may be known by to the ledger, the surest first
	Amount   rain.Money
	Incoming bool   // the money came in, or was to; else it went out
	Signed   bool   // that is known: the signs of a provider's CSV may mean either
	Currency string // "" is not said
	State    State
	Fault    string // why it cannot be read; then nothing else counts but Number and Names
}

// State is what the other side says of a payment.
type State string

// The states.
const (
	Done     State = "paid"
	Returned State = "returned" // paid, and given back
	Open     State = "open"     // announced, or on its way
	Failed   State = "failed"   // it was never made
)

// words are the states as statements name them, in lower case.
var words = map[string]State{
	"": Done, "paid": Done, "success": Done, "succeeded": Done, "completed": Done, "book": Done, "booked": Done,
	"支付成功": Done, "转账成功": Done, "交易成功": Done, "成功": Done, "已到账": Done,
	"returned": Returned, "refund": Returned, "refunded": Returned, "reversed": Returned, "退款": Returned,
	"已退款": Returned, "已退回": Returned, "退票": Returned,
	"pending": Open, "processing": Open, "in_transit": Open, "pdng": Open, "info": Open, "处理中": Open,
	"待收款确认":  Open,
	"failed": Failed, "fail": Failed, "canceled": Failed, "cancelled": Failed, "closed": Failed, "失败": Failed,
	"转账失败": Failed, "交易关闭": Failed,
}

// stateOf reads a state.
func stateOf(word string) (State, error) {
	state, known := words[strings.ToLower(clean(word))]
	if !known {
		return "", errors.New("the state " + quote(word) + " is none that is known")
	}
	return state, nil
}

// clean takes away what spreadsheets and providers put around a value: spaces and tabs, a leading ` as WeChat's bills
// have it, and ="…", so that a spreadsheet makes no number of it.
func clean(s string) string {
	s = strings.TrimPrefix(strings.TrimSpace(s), "`")
	if inside, is := strings.CutPrefix(s, `="`); is {
		s = strings.TrimSuffix(inside, `"`)
	}
	return strings.TrimSpace(s)
}

// mostQuoted is how much of a strange value is shown, in characters.
const mostQuoted = 60

func quote(s string) string {
	if r := []rune(s); len(r) > mostQuoted {
		s = string(r[:mostQuoted]) + "…"
	}
	return "“" + s + "”"
}
