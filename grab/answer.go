package grab

import (
	"strings"

	"redrain/rain"
)

// answer is what the script has said about a batch. Its texts are parts of the script's reply.
type answer struct {
	stock   int64    // packets left
	entry   string   // of the outbox, with all that was won now; "" where nothing was
	results []Result // of each tap
	entries []string // of each tap that won, the outbox entry of its win
}

// parse reads what grab.lua returns for n taps. Nothing but the whole is taken: a result given to the wrong tap
// would be a promise to the wrong player.
func (a *answer) parse(reply string, n int) error {
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
	*a = answer{stock: stock, entry: entry, results: a.results[:0], entries: a.entries[:0]}
	for i := range n {
		var r Result
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
		if !known || (r.Outcome == Won && r.Amount < 1) {
			return errReply
		}
		a.results, a.entries = append(a.results, r), append(a.entries, from)
	}
	if fresh.bad || fresh.rest != "" || again.bad || again.rest != "" {
		return errReply
	}
	return nil
}

// items takes a line apart whose parts are separated by a space.
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

// packet is what was won with an element of the stock, which has the number given unless it has one of its own.
func (l *items) packet(n int64) Result {
	amount := l.next()
	if own, rest, numbered := strings.Cut(amount, ":"); numbered {
		n, amount = l.number(own), rest
	}
	return Result{Outcome: Won, Packet: int(n), Amount: rain.Money(l.number(amount))}
}

// win is what was won before, and its outbox entry.
func (l *items) win() (Result, string) {
	packet, rest, _ := strings.Cut(l.next(), "=")
	amount, entry, _ := strings.Cut(rest, "=")
	return Result{Outcome: Won, Packet: int(l.number(packet)), Amount: rain.Money(l.number(amount))}, entry
}

func (l *items) number(text string) int64 {
	n, ok := number(text)
	l.bad = l.bad || !ok
	return n
}
