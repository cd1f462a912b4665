package wechatpay

import (
	"encoding/json"
	"testing"

	"redrain/internal/signed"
	"redrain/internal/testenv"
	"redrain/payout/withdraw"
	"redrain/rain"
)

// TestStates: only two states return money, only one is paid, and an unknown one is neither.
func TestStates(t *testing.T) {
	t.Parallel()
	p := &Provider{o: Options{MchID: "m", AppID: "a"}}
	for state, want := range map[string]withdraw.Status{
		"ACCEPTED": withdraw.Pending, "PROCESSING": withdraw.Pending, "WAIT_USER_CONFIRM": withdraw.ActionRequired,
		"TRANSFERING": withdraw.Pending, "SUCCESS": withdraw.Paid, "FAIL": withdraw.Refused,
		"CANCELING": withdraw.Pending, "CANCELLED": withdraw.Refused,
		"": 0, "success": 0, "CLOSED": 0, "REFUND": 0,
	} {
		a, err := p.answer(bill{State: state})
		if a.Status != want || (want == 0) != (err != nil) {
			t.Errorf("%q: %+v, %v", state, a, err)
		}
	}
}

// TestAnswersAboutOthers: a transfer with another number, merchant, amount or payee decides nothing.
func TestAnswersAboutOthers(t *testing.T) {
	t.Parallel()
	p := &Provider{o: Options{MchID: "m", AppID: "a"}}
	pay := withdraw.Payment{Key: "w1", Payee: "wechat:a:o", Amount: 5}
	amount := func(n rain.Money) *rain.Money { return &n }
	for what, b := range map[string]bill{
		"number": {Number: "w2", State: "SUCCESS"}, "merchant": {Number: "w1", MchID: "x", State: "SUCCESS"},
		"amount":  {Number: "w1", Amount: amount(6), State: "SUCCESS"},
		"nothing": {Number: "w1", Amount: amount(0), State: "SUCCESS"},
		"payee":   {Number: "w1", OpenID: "x", State: "SUCCESS"},
	} {
		body := testenv.Got(json.Marshal(b)).Must(t)
		testenv.WantFail(t, testenv.Err(p.read(signed.Answer{Body: body}, pay)), what)
	}
	testenv.WantFail(t, testenv.Err(p.read(signed.Answer{Body: []byte("<html>")}, pay)), "a page")
	same := testenv.Got(json.Marshal(bill{Number: "w1", MchID: "m", OpenID: "o", Amount: amount(5), State: "SUCCESS"}))
	answer, err := p.read(signed.Answer{Body: same.Must(t)}, pay)
	if err != nil || answer.Status != withdraw.Paid {
		t.Errorf("%+v, %v", answer, err)
	}
}
