package store

import (
	"errors"
	"strings"

	"redrain/grab/outcome"
	"redrain/rain"
)

// errReply is an answer of a script that this program does not understand.
var errReply = errors.New("unexpected answer of a script")

// Answer is what the script has said about a batch. Its texts are parts of the script's reply.
type Answer struct {
	Left    int64            // packets that the shard has left
	Entry   string           // id of the outbox entry with all that was won now; "" where nothing was
	Results []outcome.Result // of each tap, in the order in which they were added
	Entries []string         // of each tap that won, the id of the outbox entry of its win; else ""
}

// parse reads what grab.lua returns for n taps. Nothing but the whole is taken: a result given to the wrong tap
// would be a promise to the wrong player.
func (a *Answer) parse(reply string, n int) error {
	const lines = 6
	line := strings.Split(reply, "\n")
	if len(line) != lines {
		return errReply
	}
	stock, ok := number(line[0])
	entry, letters := line[1], line[2]
	fresh, again := items{rest: line[4]}, items{rest: line[5]}
	if !ok || len(letters) != n {
		return errReply
	}
	packet := int64(0) // of the next one that is won now, in a stock without numbers
	if strings.Contains(letters, "w") {
		if packet, ok = number(line[3]); !ok || !isEntryID(entry) {
			return errReply
		}
	} else if line[3] != "" || entry != "" {
		return errReply
	}
	*a = Answer{Left: stock, Entry: entry, Results: a.Results[:0], Entries: a.Entries[:0]}
	for i := range n {
		var r outcome.Result
		var known bool
		from := "" // the entry of a win
		switch letters[i] {
		case 'w':
			r, from, known = fresh.packet(packet), entry, true
			packet++
		case 'b':
			r, from = again.win()
			known = isEntryID(from)
		default:
			r.Outcome, known = outcomeOf(letters[i])
		}
		if !known || (r.Outcome == outcome.Won && r.Amount < 1) {
			return errReply
		}
		a.Results, a.Entries = append(a.Results, r), append(a.Entries, from)
	}
	if fresh.bad || fresh.rest != "" || again.bad || again.rest != "" {
		return errReply
	}
	return nil
}

// items splits a line at its spaces.
type items struct {
	rest string
	bad  bool // something was missing or of another kind
}

func (l *items) next() string {
	item, rest, more := strings.Cut(l.rest, " ")
	l.bad = l.bad || item == "" || (more && rest == "")
	l.rest = rest
	return item
}

// packet is a win that is told as an element of the stock: of packet n, unless the element has a number of its own.
func (l *items) packet(n int64) outcome.Result {
	amount := l.next()
	if own, rest, numbered := strings.Cut(amount, ":"); numbered {
		n, amount = l.number(own), rest
	}
	return outcome.Result{Outcome: outcome.Won, Packet: int(n), Amount: rain.Money(l.number(amount))}
}

// win is what was won before, and its outbox entry.
func (l *items) win() (outcome.Result, string) {
	packet, rest, _ := strings.Cut(l.next(), "=")
	amount, entry, _ := strings.Cut(rest, "=")
	return outcome.Result{Outcome: outcome.Won, Packet: int(l.number(packet)), Amount: rain.Money(l.number(amount))},
		entry
}

func (l *items) number(text string) int64 {
	n, ok := number(text)
	l.bad = l.bad || !ok
	return n
}

// outcomeOf translates the letters of grab.lua for taps that win nothing.
func outcomeOf(letter byte) (outcome.Outcome, bool) {
	switch letter {
	case 'a':
		return outcome.Already, true
	case 's':
		return outcome.SoldOut, true
	case 'n':
		return outcome.NotOpen, true
	case 'l':
		return outcome.Limited, true
	case 'e':
		return outcome.Empty, true
	default:
		return 0, false
	}
}
