package providertest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"redrain/payout/withdraw"
	"redrain/rain"
)

// stripeLike is a provider for a receiver like Stripe: an Idempotency-Key, which the receiver forgets after a day; a
// limit of creations in a second; and an end that comes later. Because the key is forgotten, a payment that may have
// been made is looked for by its group before it is asked for again.
type stripeLike struct {
	client

	account string
}

// Receiver implements withdraw.Provider.
func (p stripeLike) Receiver() withdraw.Receiver {
	return withdraw.Receiver{Provider: "stripelike", Address: p.base, Account: p.account}
}

// transfer is a payment as the receiver knows it.
type transfer struct {
	ID      string     `json:"id"`
	Group   string     `json:"transfer_group"`
	User    string     `json:"destination"`
	Amount  rain.Money `json:"amount"`
	Status  string     `json:"status"`
	Failure string     `json:"failure_message"`
}

// Pay implements withdraw.Provider.
func (p stripeLike) Pay(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
	form := url.Values{"amount": {strconv.FormatInt(int64(pay.Amount), 10)}, "currency": {"cny"},
		"destination": {pay.User}, "transfer_group": {pay.Key}}
	header := http.Header{"Idempotency-Key": {pay.Key}, "Content-Type": {"application/x-www-form-urlencoded"}}
	var t transfer
	if _, err := p.call(ctx, http.MethodPost, "/v1/transfers", header, form.Encode(), &t); err != nil {
		return withdraw.Answer{}, err
	}
	return t.answer(pay)
}

// Ask implements withdraw.Asker.
func (p stripeLike) Ask(ctx context.Context, pay withdraw.Payment) (withdraw.Answer, error) {
	var list struct {
		Object string     `json:"object"`
		Data   []transfer `json:"data"`
	}
	_, err := p.call(ctx, http.MethodGet, "/v1/transfers?transfer_group="+url.QueryEscape(pay.Key), nil, "", &list)
	switch {
	case err != nil:
		return withdraw.Answer{}, err
	case list.Object != "list" || len(list.Data) > 1:
		return withdraw.Answer{}, fmt.Errorf("not one transfer of the group %s: %+v", pay.Key, list)
	case len(list.Data) == 0:
		return withdraw.Answer{Status: withdraw.Unknown}, nil
	}
	return list.Data[0].answer(pay)
}

func (t transfer) answer(pay withdraw.Payment) (a withdraw.Answer, err error) {
	if t.Group != pay.Key {
		return a, fmt.Errorf("the answer is of the group %q", t.Group)
	}
	a = withdraw.Answer{Reference: t.ID, Reason: t.Failure}
	switch t.Status {
	case "paid":
		a.Status = withdraw.Paid
	case "failed", "canceled":
		a.Status = withdraw.Refused
	case "pending", "in_transit":
		a.Status = withdraw.Pending
	default:
		return a, fmt.Errorf("transfer %s has the status %q", t.ID, t.Status)
	}
	return a, nil
}
