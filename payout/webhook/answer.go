package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"redrain/payout"
)

// answer is what a receiver may say besides the status. Fields that are not here are ignored.
type answer struct {
	ID        string `json:"id"`        // of the payment; a refusal must have it
	Reference string `json:"reference"` // the receiver's own name for the payment
	Refused   bool   `json:"refused"`
	Reason    string `json:"reason"` // why it was refused, for the player to read
}

// read makes one of the three answers of an HTTP answer:
//
//	200, 201, 204                       paid; a body is a JSON object that does not say otherwise
//	422 with {"id":…,"refused":true}    refused for good, where the id is this payment's
//	anything else                       nothing is known
//
// So a receiver's 400, 401, 403, 404, 409 or 410 gives no money back: a wrong path, a wrong secret or a proxy on the way answer
// so too, about payments that an earlier try may have made. 202 is not paid: whoever has only accepted is asked again. And a 200
// with a page of HTML is somebody else's.
func read(id string, status int, body []byte) (reference string, err error) {
	var a answer
	body = bytes.TrimSpace(body)
	if len(body) > maxAnswer {
		return "", unclear(status, body, "is too long")
	}
	isObject := len(body) > 0 && body[0] == '{' && json.Unmarshal(body, &a) == nil
	if isObject && a.ID != "" && a.ID != id {
		return "", unclear(status, body, "is about another payment")
	}
	switch status {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		switch {
		case len(body) > 0 && !isObject:
			return "", unclear(status, body, "cannot be read")
		case a.Refused:
			return "", unclear(status, body, "contradicts itself")
		}
		return a.Reference, nil
	case http.StatusUnprocessableEntity:
		if a.ID != id || !a.Refused {
			return "", unclear(status, body, "does not refuse in so many words")
		}
		if a.Reason == "" {
			return "", fmt.Errorf("%w, which gives no reason", payout.ErrRefused)
		}
		return "", fmt.Errorf("%w: %s", payout.ErrRefused, a.Reason)
	case http.StatusAccepted:
		return "", unclear(status, body, "says that it is not paid yet")
	}
	return "", unclear(status, body, "is no answer to a payment")
}

// shown is how much of an answer's body an error shows, in bytes.
const shown = 200

func unclear(status int, body []byte, what string) error {
	return fmt.Errorf("the provider's answer %s: status %d, %q", what, status, body[:min(len(body), shown)])
}
