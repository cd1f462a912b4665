package wire

import (
	"bytes"
	"errors"
	"fmt"
)

// ID is a client's name for its request: the JSON of a number or a string, at most MaxID bytes, which the answer
// repeats. Empty is no id.
type ID string

// MaxID is the size limit of an ID, in bytes.
const MaxID = 64

// UnmarshalJSON keeps the JSON of the id as it is.
func (id *ID) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.Equal(b, []byte("null")):
		*id = ""
	case len(b) > MaxID:
		return fmt.Errorf("id is longer than %d bytes", MaxID)
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
