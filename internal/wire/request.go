package wire

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"redrain/rain"
)

// Subprotocol is the WebSocket subprotocol's name.
const Subprotocol = "redrain.v1"

// The size limits of a client's messages, in bytes.
const (
	MaxRequest   = 4 << 10
	MaxToken     = 8 << 10               // of a token
	MaxWithToken = MaxToken + MaxRequest // of a message that brings a token
)

// The types of a client's messages.
const (
	TypeHello = "hello"
	TypeJoin  = "join"
	TypeTap   = "tap"
	TypePing  = "ping"
	TypeToken = "token"
)

// Request is any message of a client.
type Request struct {
	Type     string `json:"type"`
	ID       ID     `json:"id"`
	Token    string `json:"token"`    // hello, token
	Campaign string `json:"campaign"` // hello, join
	Watch    bool   `json:"watch"`    // hello: watches without playing, in any room
	Drop     string `json:"drop"`     // tap
	T        int64  `json:"t"`        // ping: the client's own time, echoed
}

// ErrMalformed means that a message is not a JSON object with fields of the right kinds.
var ErrMalformed = errors.New("not a message of redrain.v1")

// ErrUnknownType means that a well-formed message has a type that this protocol does not have.
var ErrUnknownType = errors.New("unknown message type")

// BringsToken reports whether the message may be as long as MaxWithToken.
func (r Request) BringsToken() bool { return r.Type == TypeHello || r.Type == TypeToken }

// ParseRequest parses a client's message and ignores unknown fields. A field that is there twice is a fault. An error
// wraps ErrMalformed or ErrUnknownType. The request's ID is set even then if it could be read, so that the answer can
// repeat it.
func ParseRequest(data []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(data, &r); err != nil {
		var named struct {
			ID ID `json:"id"`
		}
		_ = json.Unmarshal(data, &named) // the first error counts
		return Request{ID: named.ID}, fmt.Errorf("%w: %s", ErrMalformed, reason(err))
	}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); trimmed[0] != '{' {
		return Request{}, fmt.Errorf("%w: not an object", ErrMalformed)
	}
	switch r.Type {
	case TypeTap:
		if r.Drop == "" {
			return r, fmt.Errorf("%w: drop is missing", ErrMalformed)
		}
		return r, nil
	case TypeToken:
		if r.Token == "" {
			return r, fmt.Errorf("%w: token is missing", ErrMalformed)
		}
		return r, nil
	case TypeHello, TypeJoin, TypePing:
		return r, nil
	case "":
		return r, fmt.Errorf("%w: type is missing", ErrMalformed)
	default:
		return r, fmt.Errorf("%w; use %s, %s, %s, %s or %s", ErrUnknownType, TypeHello, TypeJoin, TypeTap, TypePing,
			TypeToken)
	}
}

// Tap returns a request of type tap in ParseTap's form. ok is false if the drop's id is invalid.
func (r Request) Tap() (t Tap, ok bool) {
	drop, ok := rain.ParseDrop([]byte(r.Drop))
	return Tap{ID: []byte(r.ID), Drop: drop}, ok
}

// reason describes an error of the decoder without naming Go types.
func reason(err error) string {
	fault, _ := errors.AsType[*json.SemanticError](err)
	syntax, _ := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && syntax != nil:
		return "field " + syntax.JSONPointer.LastToken() + " is there twice"
	case syntax != nil:
		return fmt.Sprintf("not JSON (at byte %d)", syntax.ByteOffset)
	case fault == nil:
		return err.Error()
	case fault.JSONPointer == "":
		return "not an object"
	case fault.GoType == reflect.TypeFor[ID]():
		return fault.Err.Error()
	default:
		return "field " + fault.JSONPointer.LastToken() + " has the wrong kind of value"
	}
}

// ID is a client's name for its request: the JSON of a number or a string of at most MaxID characters. The answer
// repeats it. Empty means no id.
type ID string

// MaxID is the longest ID: the digits of a number, or the characters of a string.
const MaxID = 64

// UnmarshalJSON keeps the JSON of the id as it is.
func (id *ID) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.Equal(b, []byte("null")):
		*id = ""
	case length(b) > MaxID:
		return fmt.Errorf("id is longer than %d characters", MaxID)
	case b[0] == '"' || b[0] == '-' || (b[0] >= '0' && b[0] <= '9'):
		*id = ID(b)
	default:
		return errors.New("id is a number or a string")
	}
	return nil
}

// MarshalJSON writes the JSON of the id as it came; no id is null.
func (id ID) MarshalJSON() ([]byte, error) {
	if id == "" {
		return []byte("null"), nil
	}
	return []byte(id), nil
}

// length returns the number of characters in the JSON of a string, with any escapes, or the bytes of any other value.
func length(b []byte) int {
	var text string
	if b[0] != '"' || json.Unmarshal(b, &text) != nil {
		return len(b)
	}
	return utf8.RuneCountInString(text)
}
