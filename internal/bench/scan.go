package bench

import (
	"bytes"
	"encoding/json"
	"strconv"

	"redrain/internal/wire"
	"redrain/rain"
)

// What the scanner reads, in exactly the spelling in which the server writes it. Any other spelling is left to
// encoding/json.
const (
	resultStart = `{"type":"result","id":`
	waveStart   = `{"type":"wave","rain":"`
	typeStart   = `{"type":"`
)

// result is the answer to a tap. The texts are parts of the message, and good as long as that.
type result struct {
	id      int64
	drop    []byte
	outcome []byte
	amount  rain.Money
	claim   []byte
}

// scanner walks over a message. Each step does nothing once one has failed.
type scanner struct {
	rest []byte
	bad  bool
}

// skip expects these very bytes.
func (s *scanner) skip(text string) {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		s.bad = true
		return
	}
	s.rest = s.rest[len(text):]
}

// try skips the bytes if they come next.
func (s *scanner) try(text string) bool {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

// number reads a whole number as JSON spells it, not negative and of at most 18 digits.
func (s *scanner) number() int64 {
	n, i := int64(0), 0
	for i < len(s.rest) && s.rest[i] >= '0' && s.rest[i] <= '9' {
		n = n*10 + int64(s.rest[i]-'0')
		i++
	}
	if i == 0 || i > 18 || (i > 1 && s.rest[0] == '0') {
		s.bad = true
		return 0
	}
	s.rest = s.rest[i:]
	return n
}

// text reads up to the closing quote, and skips that. It takes plain ASCII only: what is escaped, or could be
// malformed, is not for the scanner.
func (s *scanner) text() []byte {
	for i, c := range s.rest {
		switch {
		case c == '"':
			t := s.rest[:i]
			s.rest = s.rest[i+1:]
			return t
		case c < ' ' || c == '\\' || c > '~':
			s.bad = true
			return nil
		}
	}
	s.bad = true
	return nil
}

// end tells whether the message was what the scanner reads, and is over.
func (s *scanner) end() bool { return !s.bad && len(s.rest) == 0 }

// scanResult reads a result. ok is false where it is spelled in any other way than the server's usual one.
func scanResult(line []byte) (r result, ok bool) {
	s := scanner{rest: line}
	s.skip(resultStart)
	r.id = s.number()
	s.skip(`,"drop":"`)
	r.drop = s.text()
	s.skip(`,"outcome":"`)
	r.outcome = s.text()
	if !s.bad && s.try(`,"amount":`) {
		r.amount = rain.Money(s.number())
		s.skip(`,"packet":"`)
		s.text()
		s.skip(`,"claim":"`)
		r.claim = s.text()
	}
	s.skip("}")
	return r, s.end()
}

// readResult reads a result in any spelling.
func readResult(line []byte) (result, bool) {
	if r, ok := scanResult(line); ok {
		return r, true
	}
	var m wire.Result
	if json.Unmarshal(line, &m) != nil {
		return result{}, false
	}
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return result{}, false
	}
	return result{id: id, drop: []byte(m.Drop), outcome: []byte(m.Outcome), amount: m.Amount, claim: []byte(m.Claim)},
		true
}

// scanWaveNumber reads of a wave only which it is.
func scanWaveNumber(line []byte) (n int64, ok bool) {
	s := scanner{rest: line}
	s.skip(waveStart)
	s.text()
	s.skip(`,"n":`)
	n = s.number()
	return n, !s.bad && len(s.rest) > 0 && s.rest[0] == ','
}

// scanWave reads a wave. ok is false where it is spelled in any other way than the server's usual one.
func scanWave(line []byte) (w wire.Wave, ok bool) {
	s := scanner{rest: line}
	w.Type = wire.TypeWave
	s.skip(waveStart)
	w.Rain = string(s.text())
	s.skip(`,"n":`)
	w.N = s.number()
	s.skip(`,"at":`)
	w.At = s.number()
	s.skip(`,"drops":[`)
	w.Drops = make([][4]int, 0, 1+bytes.Count(s.rest, []byte("],[")))
	for !s.bad && !s.try("]") {
		if len(w.Drops) > 0 {
			s.skip(",")
		}
		w.Drops = append(w.Drops, s.four())
	}
	s.skip("}")
	return w, s.end()
}

func (s *scanner) four() (d [4]int) {
	for i := range d {
		s.skip([]string{"[", ",", ",", ","}[i])
		d[i] = int(s.number())
	}
	s.skip("]")
	return d
}

// readWave reads a wave in any spelling.
func readWave(line []byte) (wire.Wave, bool) {
	if w, ok := scanWave(line); ok {
		return w, true
	}
	var w wire.Wave
	return w, json.Unmarshal(line, &w) == nil
}

// scanType is the type of a message; in another spelling than the usual one encoding/json finds it.
func scanType(line []byte) string {
	s := scanner{rest: line}
	s.skip(typeStart)
	name := s.text()
	if !s.bad {
		for _, known := range [...]string{
			wire.TypeResult, wire.TypeWave, wire.TypeSettled, wire.TypeRoom, wire.TypeRain, wire.TypeCampaign,
			wire.TypeWelcome,
			wire.TypePong, wire.TypeError, wire.TypeGoodbye, wire.TypeWithdrawal,
		} {
			if string(name) == known {
				return known
			}
		}
	}
	var m struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(line, &m) != nil {
		return ""
	}
	return m.Type
}
