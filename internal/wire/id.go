package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

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
