package providertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"redrain/payout/ledger"
	"redrain/payout/withdraw"
	"redrain/rain"
)

// wechatLike is a provider for a receiver like WeChat's transfers to users since 2025: the withdrawal's id is the
// number of a bill, the player confirms with a package in the receiver's app within a day, and the same number is the
// same bill for ever. It is the example of docs/use/payments.md.
type wechatLike struct {
	client

	merchant string
}

// Receiver implements withdraw.Provider.
func (p wechatLike) Receiver() withdraw.Receiver {
	return withdraw.Receiver{Provider: "wechatlike", Address: p.base, Account: p.merchant}
}

// bill is a transfer as the receiver knows it.
type bill struct {
	Number   string     `json:"out_bill_no"`
	Theirs   string     `json:"transfer_bill_no"`
	State    string     `json:"state"`
	Package  string     `json:"package_info"`
	Deadline int64      `json:"confirm_before"` // Unix ms
	Fail     string     `json:"fail_reason"`
	User     string     `json:"openid"`
	Amount   rain.Money `json:"transfer_amount"`
	Code     string     `json:"code"` // of an error
}

// Pay implements withdraw.Provider: a bill that exists is found by its number, and not made again.
func (p wechatLike) Pay(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
	body, err := json.Marshal(map[string]any{"out_bill_no": pay.Key, "openid": pay.User, "transfer_amount": pay.Amount})
	if err != nil {
		return withdraw.Answer{}, err
	}
	var b bill
	_, err = p.call(ctx, http.MethodPost, "/v3/transfer-bills", nil, string(body), &b)
	if err != nil {
		return withdraw.Answer{}, err
	}
	return b.answer(pay)
}

// Ask implements withdraw.Asker. Only the receiver's own words for "there is no such bill" are believed: a wrong path
// is a 404 as well.
func (p wechatLike) Ask(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
	var b bill
	status, err := p.call(ctx, http.MethodGet, "/v3/transfer-bills/out-bill-no/"+url.PathEscape(pay.Key), nil, "", &b,
		http.StatusNotFound)
	switch {
	case err != nil:
		return withdraw.Answer{}, err
	case status == http.StatusNotFound && b.Code == "NOT_FOUND":
		return withdraw.Answer{Status: withdraw.Unknown}, nil
	}
	return b.answer(pay)
}

// answer is what a bill says. A state that is not known here is no answer.
func (b bill) answer(pay withdraw.Payment) (a withdraw.Answer, err error) {
	if b.Number != pay.Key {
		return a, fmt.Errorf("the answer names bill %q", b.Number)
	}
	a = withdraw.Answer{Reference: b.Theirs, Reason: b.Fail}
	switch b.State {
	case "SUCCESS":
		a.Status = withdraw.Paid
	case "FAIL", "CANCELLED":
		a.Status = withdraw.Refused
	case "WAIT_USER_CONFIRM":
		a.Status = withdraw.ActionRequired
		a.Action = ledger.Action{Data: b.Package, Until: b.Deadline}
	case "ACCEPTED", "PROCESSING", "TRANSFERING", "CANCELING":
		a.Status = withdraw.Pending
	default:
		return a, fmt.Errorf("bill %s is in the state %q", b.Number, b.State)
	}
	return a, nil
}
