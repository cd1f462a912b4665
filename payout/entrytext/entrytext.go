package entrytext

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"redrain/rain"
)

// An entry travels as JSON, so that a node of any version reads it, and so can a person. Nearly all of them are
// written and read here, without reflection and without a piece of memory for each value; what is not in the plain
// form is left to encoding/json, which would have made the same of all of them.

// Encode is json.Marshal for an entry.
func Encode(e rain.Entry) ([]byte, error) {
	if e.Reclaim != nil || !plain(e.Ref.Campaign) || !plain(e.Ref.ID) {
		return json.Marshal(e)
	}
	size := 80 + len(e.Ref.Campaign) + len(e.Ref.ID)
	for i := range e.Wins {
		w := &e.Wins[i]
		if !plain(w.User) || !plain(w.Drop) {
			return json.Marshal(e)
		}
		size += 80 + len(w.User) + len(w.Drop)
	}
	b := make([]byte, 0, size)
	b = append(b, `{"ref":{"campaign":"`...)
	b = append(b, e.Ref.Campaign...)
	b = append(b, `","shard":`...)
	b = strconv.AppendInt(b, int64(e.Ref.Shard), 10)
	b = append(b, `,"id":"`...)
	b = append(b, e.Ref.ID...)
	b = append(b, `"}`...)
	for i := range e.Wins {
		w := &e.Wins[i]
		if i == 0 {
			b = append(b, `,"wins":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"user":"`...)
		b = append(b, w.User...)
		b = append(b, `","packet":`...)
		b = strconv.AppendInt(b, int64(w.Packet), 10)
		b = append(b, `,"amount":`...)
		b = strconv.AppendInt(b, int64(w.Amount), 10)
		b = append(b, `,"drop":"`...)
		b = append(b, w.Drop...)
		b = append(b, `"}`...)
	}
	if len(e.Wins) > 0 {
		b = append(b, ']')
	}
	return append(b, '}'), nil
}

// plain tells whether a text stands in JSON as it is.
func plain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		// json.Marshal escapes <, > and & too.
		case c < ' ' || c >= utf8.RuneSelf, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

// Decode reads an entry as the relay writes it; fault says why there is none.
func Decode(data []byte) (e rain.Entry, fault string) {
	// The names in the entry are parts of one string; they are kept no longer than their batch.
	if e, ok := cutEntry(string(data)); ok {
		return e, ""
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, err.Error()
	}
	if len(e.Wins) == 0 && e.Reclaim == nil {
		return e, "it holds neither wins nor a reclaim"
	}
	return e, ""
}

// cutEntry reads an entry that has wins and is written just as encodeEntry writes it. ok is false for all others,
// which says nothing about them.
func cutEntry(text string) (e rain.Entry, ok bool) {
	c := cutter{text}
	shard := int64(0)
	if !c.word(`{"ref":{"campaign":"`) || !c.text(&e.Ref.Campaign) || !c.word(`,"shard":`) || !c.number(&shard) ||
		!c.word(`,"id":"`) || !c.text(&e.Ref.ID) || !c.word(`},"wins":[`) {
		return rain.Entry{}, false
	}
	e.Ref.Shard = int(shard)
	e.Wins = make([]rain.Win, 0, 1+strings.Count(c.rest, "},{"))
	for {
		var w rain.Win
		var packet, amount int64
		if !c.word(`{"user":"`) || !c.text(&w.User) || !c.word(`,"packet":`) || !c.number(&packet) ||
			!c.word(`,"amount":`) || !c.number(&amount) || !c.word(`,"drop":"`) || !c.text(&w.Drop) || !c.word(`}`) {
			return rain.Entry{}, false
		}
		w.Packet, w.Amount = int(packet), rain.Money(amount)
		e.Wins = append(e.Wins, w)
		if c.word(`]}`) {
			return e, c.rest == ""
		}
		if !c.word(`,`) {
			return rain.Entry{}, false
		}
	}
}

// cutter takes one thing after the other off the front of a text, where it is there.
type cutter struct{ rest string }

func (c *cutter) word(w string) (ok bool) {
	c.rest, ok = strings.CutPrefix(c.rest, w)
	return ok
}

// text takes what stands before the next quotation mark, and the mark.
func (c *cutter) text(into *string) bool {
	end := strings.IndexByte(c.rest, '"')
	if end < 0 {
		return false
	}
	*into = c.rest[:end]
	c.rest = c.rest[end+1:]
	for i := range len(*into) {
		if b := (*into)[i]; b < ' ' || b >= utf8.RuneSelf || b == '\\' {
			return false
		}
	}
	return true
}

// number takes a whole number that is not negative, and far from the end of 64 bits.
func (c *cutter) number(into *int64) bool {
	digits := 0
	for digits < len(c.rest) && c.rest[digits] >= '0' && c.rest[digits] <= '9' {
		*into = *into*10 + int64(c.rest[digits]-'0')
		digits++
		if digits > 18 {
			return false
		}
	}
	ok := digits > 0 && (digits == 1 || c.rest[0] != '0')
	c.rest = c.rest[digits:]
	return ok
}
