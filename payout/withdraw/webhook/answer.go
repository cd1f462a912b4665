package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"redrain/payout/withdraw"
)

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 64 << 10

// answer is what a receiver says besides the status. Fields that are not here are ignored.
type answer struct {
	ID        string `json:"id"`        // of the payment; an answer without it counts for nothing
	Reference string `json:"reference"` // the receiver's own name for the payment
	Refused   bool   `json:"refused"`
	Reason    string `json:"reason"` // why it was refused, for the player to read
}

// read makes one of the three answers of an HTTP answer:
//
//	200 or 201 with {"id":…}            paid, where the id is this payment's
//	422 with {"id":…,"refused":true}    refused for good, where the id is this payment's
//	anything else                       nothing is known
//
// So a receiver's 400, 401, 403, 404, 409 or 410 gives no money back: a wrong path, a wrong secret or a proxy on
// the way answer so too, about payments that an earlier try may have made. 202 is not paid: whoever has only
// accepted is asked again. And a bare 200 is not paid either: Go's server says it for a handler that gave up
// without a word, a proxy says it for a page of its own.
func read(id string, status int, body []byte) (reference string, err error) {
	var a answer
	body = bytes.TrimSpace(body)
	switch {
	case status != http.StatusOK && status != http.StatusCreated && status != http.StatusUnprocessableEntity:
		return "", unclear(status, body, "is neither paid nor refused")
	case len(body) > maxAnswer:
		return "", unclear(status, body, "is too long")
	}
	if err := json.Unmarshal(body, &a); err != nil {
		a = answer{} // of half an object nothing counts
	}
	if a.ID != id {
		return "", unclear(status, body, "does not name the payment")
	}
	switch refusal := status == http.StatusUnprocessableEntity; {
	case !refusal && !a.Refused:
		return a.Reference, nil
	case refusal && a.Refused && a.Reason == "":
		return "", fmt.Errorf("%w, which gives no reason", withdraw.ErrRefused)
	case refusal && a.Refused:
		return "", fmt.Errorf("%w: %s", withdraw.ErrRefused, a.Reason)
	}
	return "", unclear(status, body, "says neither that it is paid nor that it never will be")
}

// shown is how much of an answer's body an error shows, in bytes.
const shown = 200

func unclear(status int, body []byte, what string) error {
	return fmt.Errorf("the provider's answer %s: status %d, %q", what, status, body[:min(len(body), shown)])
}
