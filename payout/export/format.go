package export

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"
)

// version is the version of the format.
const version = 1

// Header is the first line.
type Header struct {
	Version  int             `json:"redrain_export"`
	Campaign string          `json:"campaign"`
	TakenAt  int64           `json:"taken_at"` // Unix ms
	By       string          `json:"by"`       // the operator
	Proof    json.RawMessage `json:"proof"`    // the reconciliation before the export
}

// Trailer is the last line.
type Trailer struct {
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"` // of all bytes before this line, in hexadecimal
}

// heading is a line that starts the rows of a table.
type heading struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

// value is a column's value, as the database returns it as text.
type value sql.NullString

// binary is a value that is no text.
type binary struct {
	Hex string `json:"hex"`
}

// MarshalJSON implements json.Marshaler.
func (v value) MarshalJSON() ([]byte, error) {
	switch {
	case !v.Valid:
		return []byte("null"), nil
	case !utf8.ValidString(v.String):
		return json.Marshal(binary{hex.EncodeToString([]byte(v.String))})
	}
	return json.Marshal(v.String)
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *value) UnmarshalJSON(text []byte) error {
	*v = value{}
	if string(text) == "null" {
		return nil
	}
	v.Valid = true
	if len(text) > 0 && text[0] == '{' {
		var b binary
		if err := json.Unmarshal(text, &b); err != nil {
			return err
		}
		raw, err := hex.DecodeString(b.Hex)
		v.String = string(raw)
		return err
	}
	return json.Unmarshal(text, &v.String)
}
