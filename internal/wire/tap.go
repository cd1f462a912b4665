package wire

import (
	"bytes"
	"strconv"

	"redrain/rain"
)

// Tap is a client's tap.
type Tap struct {
	ID   []byte // the JSON of the id, as in ID, quotes included; empty if there is none; a slice of the message
	Drop rain.DropID
}

// ParseTap parses a tap in the form that most clients send. It is an object with only the keys "type", "id" and
// "drop", each at most once, with plain values. It needs neither allocation nor reflection, because nearly every
// message of a storm is such a tap. ok is false for every other message. The message may still be a tap: read it with
// ParseRequest.
func ParseTap(data []byte) (t Tap, ok bool) {
	s := scanner{rest: data}
	if !s.byte('{') {
		return Tap{}, false
	}
	var seen seenKeys
	for first := true; ; first = false {
		if s.byte('}') {
			break
		}
		if !first && !s.byte(',') {
			return Tap{}, false
		}
		if !s.member(&t, &seen) {
			return Tap{}, false
		}
	}
	s.space()
	return t, seen.kind && seen.drop && len(s.rest) == 0
}

// seenKeys are the keys of a tap that were read.
type seenKeys struct{ kind, id, drop bool }

// member reads one key of a tap and its value. ok is false for an unknown or repeated key.
func (s *scanner) member(t *Tap, seen *seenKeys) (ok bool) {
	key, ok := s.text()
	if !ok || !s.byte(':') {
		return false
	}
	switch {
	case string(key) == "type" && !seen.kind:
		value, plain := s.text()
		seen.kind = plain && string(value) == TypeTap
		return seen.kind
	case string(key) == "id" && !seen.id:
		t.ID, seen.id = s.id()
		return seen.id
	case string(key) == "drop" && !seen.drop:
		value, plain := s.text()
		t.Drop, seen.drop = rain.ParseDrop(value)
		return plain && seen.drop
	}
	return false
}

// scanner reads JSON from the front of rest.
type scanner struct{ rest []byte }

func (s *scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\r' || s.rest[0] == '\n') {
		s.rest = s.rest[1:]
	}
}

// byte skips white space and then b. It reports whether b was there.
func (s *scanner) byte(b byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != b {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// text reads a string of printable ASCII without escapes. It refuses characters that encoding/json would escape, so
// that the text can be sent back unchanged.
func (s *scanner) text() (value []byte, ok bool) {
	if !s.byte('"') {
		return nil, false
	}
	for i, b := range s.rest {
		switch {
		case b == '"':
			value, s.rest = s.rest[:i:i], s.rest[i+1:]
			return value, true
		case b < ' ' || b > '~' || b == '\\' || b == '<' || b == '>' || b == '&':
			return nil, false
		}
	}
	return nil, false
}

// id reads an id: a string, whose quotes belong to the value, or an integer without a sign.
func (s *scanner) id() (value []byte, ok bool) {
	s.space()
	whole := s.rest
	if bytes.HasPrefix(whole, []byte{'"'}) {
		text, ok := s.text() // of ASCII
		if !ok || len(text) > MaxID {
			return nil, false
		}
		n := len(text) + len(`""`)
		return whole[:n:n], true
	}
	n := 0
	for n < len(whole) && whole[n] >= '0' && whole[n] <= '9' {
		n++
	}
	if n == 0 || n > MaxID || (n > 1 && whole[0] == '0') {
		return nil, false
	}
	// ParseTap refuses a fraction or an exponent, because only a comma or a brace may follow.
	s.rest = whole[n:]
	return whole[:n:n], true
}

// TapResult is the answer to a Tap. It is a Result that is written without reflection, with the bytes that Encode would
// write.
type TapResult struct {
	ID       []byte // as Tap.ID
	Drop     rain.DropID
	Outcome  string
	Campaign string // of a win; this server made the id, so it needs no escapes
	Packet   int
	Amount   rain.Money
	Luck     int // as in Result
}

// Append appends the message to b.
func (r *TapResult) Append(b []byte) []byte {
	b = append(b, `{"type":"result"`...)
	if len(r.ID) > 0 {
		b = append(append(b, `,"id":`...), r.ID...)
	}
	b = append(b, `,"drop":"`...)
	b = r.Drop.Append(b)
	b = append(append(append(b, `","outcome":"`...), r.Outcome...), '"')
	if r.Amount > 0 {
		b = strconv.AppendInt(append(b, `,"amount":`...), int64(r.Amount), 10)
		b = strconv.AppendInt(append(b, `,"packet":"`...), int64(r.Packet), 10)
		b = append(append(append(b, `","claim":"`...), r.Campaign...), '-')
		b = append(strconv.AppendInt(b, int64(r.Packet), 10), '"')
		if r.Luck > 0 {
			b = strconv.AppendInt(append(b, `,"luck":`...), int64(r.Luck), 10)
		}
	}
	return append(b, '}')
}
