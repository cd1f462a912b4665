package wire

import (
	"bytes"
	"strconv"

	"redrain/rain"
)

// Tap is a tap as it stands in a client's message: its fields lie in the message's own bytes.
type Tap struct {
	ID   []byte // as an ID: what stands there, quotes included; empty where there is none
	Drop []byte
}

// ParseTap reads a tap that is spelt the way clients spell it: an object of nothing but "type", "id" and "drop",
// each at most once, with plain values. That is nearly every message of a storm, and takes no allocation and no
// reflection. ok is false for everything else, which may be a tap all the same: ParseRequest knows.
func ParseTap(data []byte) (t Tap, ok bool) {
	s := scanner{rest: data}
	if !s.byte('{') {
		return Tap{}, false
	}
	typed := false
	for first := true; ; first = false {
		if s.byte('}') {
			break
		}
		if !first && !s.byte(',') {
			return Tap{}, false
		}
		if !s.member(&t, &typed) {
			return Tap{}, false
		}
	}
	s.space()
	return t, typed && t.Drop != nil && len(s.rest) == 0
}

// member takes one of a tap's keys, which must not have been there before, and its value.
func (s *scanner) member(t *Tap, typed *bool) (ok bool) {
	key, ok := s.text()
	if !ok || !s.byte(':') {
		return false
	}
	switch {
	case string(key) == "type" && !*typed:
		value, plain := s.text()
		*typed = plain && string(value) == TypeTap
		return *typed
	case string(key) == "id" && t.ID == nil:
		t.ID, ok = s.id()
	case string(key) == "drop" && t.Drop == nil:
		t.Drop, ok = s.text()
	default:
		return false
	}
	return ok
}

// scanner takes plain JSON apart from its front.
type scanner struct{ rest []byte }

func (s *scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\r' || s.rest[0] == '\n') {
		s.rest = s.rest[1:]
	}
}

// byte takes one byte, after space, if it is the next.
func (s *scanner) byte(b byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != b {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// text takes a string of printable ASCII that neither has escapes nor, when it is said back, would get any.
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

// id takes an id: a string, with its quotes, or an integer.
func (s *scanner) id() (value []byte, ok bool) {
	s.space()
	whole := s.rest
	if bytes.HasPrefix(whole, []byte{'"'}) {
		text, plain := s.text()
		return whole[:len(text)+2], plain && len(text)+2 <= MaxID
	}
	n := 0
	for n < len(whole) && whole[n] >= '0' && whole[n] <= '9' {
		n++
	}
	if n == 0 || n > MaxID || (n > 1 && whole[0] == '0') {
		return nil, false
	}
	// What follows is a comma or the end of the object, or the message is refused: so it is no fraction and no
	// exponent.
	s.rest = whole[n:]
	return whole[:n:n], true
}

// TapResult is a Result on its way to many players: it is written without reflection, byte for byte as Encode would.
type TapResult struct {
	ID       []byte // as Tap.ID
	Drop     rain.DropID
	Outcome  string
	Campaign string // of a win; made by this server, so it needs no escapes
	Packet   int
	Amount   rain.Money
}

// Append writes the message.
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
	}
	return append(b, '}')
}
