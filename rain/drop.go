package rain

import "strconv"

// DropID names a drop: the K-th of wave N. Its text is "N.K".
type DropID struct {
	N int64
	K int
}

// String is the id on the wire.
func (d DropID) String() string { return string(d.Append(make([]byte, 0, 16))) }

// Append writes the id as String does.
func (d DropID) Append(b []byte) []byte {
	return strconv.AppendInt(append(strconv.AppendInt(b, d.N, 10), '.'), int64(d.K), 10)
}

// ParseDrop reads the text of a DropID. There is one text for each id, so "07.3" is invalid. ok is false for any
// other text.
func ParseDrop[T string | []byte](s T) (id DropID, ok bool) {
	n, rest, ok := digits(s)
	if !ok || len(rest) == 0 || rest[0] != '.' {
		return DropID{}, false
	}
	k, rest, ok := digits(rest[1:])
	if !ok || len(rest) > 0 {
		return DropID{}, false
	}
	return DropID{N: n, K: int(k)}, true
}

// digits reads a number of at most 15 digits without leading zeros. It runs for every tap. strconv would also accept
// signs and leading zeros.
func digits[T string | []byte](s T) (n int64, rest T, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int64(s[i]-'0')
		if i++; i > 15 {
			return 0, rest, false
		}
	}
	if i == 0 || (i > 1 && s[0] == '0') {
		return 0, rest, false
	}
	return n, s[i:], true
}

// Kind is the kind of a drop. The numbers are those of the player protocol.
type Kind int

// The kinds.
const (
	Packet Kind = 0
	Decoy  Kind = 1 // looks different and pays nothing
)

// Drop is one packet or decoy that falls.
type Drop struct {
	K      int
	X      int // horizontal place, 0 … 1000 across the screen
	Kind   Kind
	FallMS int64 // how long it is in the air
}

// Wave holds the drops that appear at the top of the screen at one moment.
type Wave struct {
	N     int64
	At    int64 // Unix milliseconds on the cluster's clock
	Drops []Drop
}

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
