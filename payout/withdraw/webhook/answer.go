package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"redrain/payout/ledger"
	"redrain/payout/withdraw"
)

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 64 << 10

// answer is what a receiver says besides the status. Fields that are not here are ignored.
type answer struct {
	ID        string `json:"id"`        // of the payment; an answer without it counts for nothing
	Reference string `json:"reference"` // the receiver's own name for the payment
	Refused   bool   `json:"refused"`
	Reason    string `json:"reason"` // why it was refused, for the player to read; or what it waits for
	Action    *struct {
		URL       string `json:"url"`
		Data      string `json:"data"`
		ExpiresAt int64  `json:"expires_at"` // Unix ms
	} `json:"action"` // what the player has to do first
}

// read makes an answer of an HTTP answer:
//
//	200 or 201 with {"id":…}            paid, where the id is this payment's
//	202 with {"id":…}                   the receiver has it; ask again
//	202 with {"id":…,"action":{…}}      the same, and the player has to do something first
//	422 with {"id":…,"refused":true}    refused for good, where the id is this payment's
//	anything else                       nothing is known
//
// So a receiver's 400, 401, 403, 404, 409 or 410 gives no money back: a wrong path, a wrong secret or a proxy on
// the way answer so too, about payments that an earlier try may have made. And a bare 200 is not paid: Go's server
// says it for a handler that gave up without a word, a proxy says it for a page of its own.
func read(id string, status int, body []byte) (withdraw.Answer, error) {
	var a answer
	body = bytes.TrimSpace(body)
	known := []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusUnprocessableEntity}
	switch {
	case !slices.Contains(known, status):
		return withdraw.Answer{}, unclear(status, body, "is neither paid nor refused")
	case len(body) > maxAnswer:
		return withdraw.Answer{}, unclear(status, body, "is too long")
	}
	if err := json.Unmarshal(body, &a); err != nil {
		a = answer{} // of half an object nothing counts
	}
	if a.ID != id {
		return withdraw.Answer{}, unclear(status, body, "does not name the payment")
	}
	said := withdraw.Answer{Reference: a.Reference, Reason: a.Reason}
	switch refusal := status == http.StatusUnprocessableEntity; {
	case refusal != a.Refused:
		return withdraw.Answer{}, unclear(status, body, "says neither that it is paid nor that it never will be")
	case refusal:
		said.Status = withdraw.Refused
	case status == http.StatusAccepted && a.Action != nil:
		said.Status = withdraw.ActionRequired
		said.Action = ledger.Action{URL: a.Action.URL, Data: a.Action.Data, Until: a.Action.ExpiresAt}
	case status == http.StatusAccepted:
		said.Status = withdraw.Pending
	case a.Action != nil:
		return withdraw.Answer{}, unclear(status, body, "says that it is paid, and that the player has to do something")
	default:
		said.Status = withdraw.Paid
	}
	return said, nil
}

// shown is how much of an answer's body an error shows, in bytes.
const shown = 200

func unclear(status int, body []byte, what string) error {
	return fmt.Errorf("the provider's answer %s: status %d, %q", what, status, body[:min(len(body), shown)])
}
