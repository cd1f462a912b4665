package rain

import "strconv"

// Ticket names a single chance of a player to win: a drop, or a beat of a rain in which players have draws. The text
// of a beat is "b" and the number of its first wave, so a ticket's text is unique in its campaign.
type Ticket struct {
	N int64 // the wave
	K int   // the drop's position in it, or ofBeat
}

// ofBeat is the K of a beat's ticket.
const ofBeat = -1

// Ticket returns the drop as a ticket.
func (d DropID) Ticket() Ticket { return Ticket(d) }

func beatTicket(firstWave int64) Ticket { return Ticket{N: firstWave, K: ofBeat} }

// IsBeat reports whether the ticket is a beat.
func (t Ticket) IsBeat() bool { return t.K == ofBeat }

// String returns the ticket as the ledger stores it.
func (t Ticket) String() string { return string(t.Append(make([]byte, 0, 16))) }

// Append writes the ticket as String does.
func (t Ticket) Append(b []byte) []byte {
	if t.IsBeat() {
		return strconv.AppendInt(append(b, 'b'), t.N, 10)
	}
	return DropID(t).Append(b)
}

// ParseTicket reads the text of a Ticket. There is one text for each. ok is false for any other text.
func ParseTicket(s string) (t Ticket, ok bool) {
	if len(s) > 0 && s[0] == 'b' {
		n, rest, ok := digits(s[1:])
		if !ok || len(rest) > 0 {
			return Ticket{}, false
		}
		return beatTicket(n), true
	}
	id, ok := ParseDrop(s)
	return id.Ticket(), ok
}
