package statement

import (
	"errors"
	"strings"

	"redrain/rain"
)

// Line is one payment of a statement.
type Line struct {
	Number   int      // its line in the file, or its number among the entries, from 1
	Names    []string // its possible names in the ledger, the most likely first
	Amount   rain.Money
	Incoming bool   // the money came in, or should come in; else it went out
	Signed   bool   // Incoming is known: the signs of a provider's CSV may mean either
	Currency string // "" = not given
	State    State
	Fault    string // the reason why it is unreadable; then only Number and Names are valid
}

// State is a payment's state in a statement.
type State string

// The states.
const (
	Done     State = "paid"
	Returned State = "returned" // paid, and returned
	Open     State = "open"     // announced, or in flight
	Failed   State = "failed"   // it was never made
)

// words maps the states' names in statements, in lower case, to states.
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

// stateOf parses a state.
func stateOf(word string) (State, error) {
	state, known := words[strings.ToLower(clean(word))]
	if !known {
		return "", errors.New("the state " + quote(word) + " is unknown")
	}
	return state, nil
}

// clean removes spaces and tabs around a value, and the decorations of spreadsheets and providers. WeChat's bills
// have a leading `. The form ="…" keeps a spreadsheet from making a number of it.
func clean(s string) string {
	s = strings.TrimPrefix(strings.TrimSpace(s), "`")
	if inside, is := strings.CutPrefix(s, `="`); is {
		s = strings.TrimSuffix(inside, `"`)
	}
	return strings.TrimSpace(s)
}

// mostQuoted is the length limit of a quoted value, in characters.
const mostQuoted = 60

func quote(s string) string {
	if r := []rune(s); len(r) > mostQuoted {
		s = string(r[:mostQuoted]) + "…"
	}
	return "“" + s + "”"
}
