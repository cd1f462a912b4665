package store

import (
	"errors"
	"strings"

	"redrain/grab/outcome"
	"redrain/rain"
)

// errReply means that the answer of a script cannot be parsed.
var errReply = errors.New("parse the answer of a script")

// Answer is the script's answer to a batch. Its texts are parts of the script's reply.
type Answer struct {
	Left    int64            // packets that the shard has left
	Time    int64            // Redis's, when it decided, in Unix microseconds
	Entry   string           // id of the outbox entry with all new wins; "" if there were none
	Written rain.Entry       // that entry; valid for longer than the answer
	Results []outcome.Result // of each tap, in the order in which they were added
	Entries []string         // of each tap that won, the id of the outbox entry of its win; else ""

	moves int64  // of stock from and to the shard, so far
	fresh []bool // of each tap, whether it has won now
	won   int    // the number of those
}

// parse reads the answer of grab.lua to n taps. It accepts a complete answer only: a result for the wrong tap would
// be a promise to the wrong player.
func (a *Answer) parse(reply string, n int, amounts *rain.Amounts) error {
	const lines = 5
	line := strings.SplitN(reply, "\n", lines)
	if len(line) != lines {
		return errReply
	}
	*a = Answer{Results: a.Results[:0], Entries: a.Entries[:0], fresh: a.fresh[:0]}
	if !a.head(line[0]) || len(line[2]) != n {
		return errReply
	}
	entry, letters, again := line[1], line[2], line[4]
	numbers, err := rain.ParseNumbers(line[3], rain.MaxPackets)
	won := strings.Count(letters, "w")
	if err != nil || numbers.Count() != won || (won > 0) != isEntryID(entry) || (won == 0) != (entry == "") {
		return errReply
	}
	a.Entry, a.won = entry, won
	for i := range n {
		var r outcome.Result
		var known bool
		from := "" // the entry of a win
		switch letters[i] {
		case 'w':
			r.Packet, known = numbers.Take()
			r.Outcome, from = outcome.Won, entry
		case 'b':
			var text string
			text, again, _ = strings.Cut(again, "\n")
			r.Packet, from, known = wonBefore(text)
			r.Outcome = outcome.Won
		default:
			r.Outcome = losing[letters[i]]
			known = r.Outcome != outcome.Unavailable
		}
		if r.Outcome == outcome.Won {
			r.Amount = amounts.Of(r.Packet)
			known = known && r.Amount > 0
		}
		if !known {
			return errReply
		}
		a.Results, a.Entries = append(a.Results, r), append(a.Entries, from)
		a.fresh = append(a.fresh, letters[i] == 'w')
	}
	if again != "" {
		return errReply
	}
	return nil
}

// head reads the first line: packets left, moves, and Redis's time.
func (a *Answer) head(line string) bool {
	f := strings.Split(line, " ")
	if len(f) != 4 {
		return false
	}
	var ok [4]bool
	var seconds, micros int64
	a.Left, ok[0] = number(f[0])
	a.moves, ok[1] = number(f[1])
	seconds, ok[2] = number(f[2])
	micros, ok[3] = number(f[3])
	a.Time = seconds*1_000_000 + micros
	return ok == [4]bool{true, true, true, true}
}

// wonBefore parses a win in the form of the wins hash.
func wonBefore(text string) (packet int, entry string, ok bool) {
	number1, rest, _ := strings.Cut(text, " ")
	entry, _, _ = strings.Cut(rest, " ")
	p, ok := number(number1)
	return int(p), entry, ok && isEntryID(entry)
}

// losing translates the codes of grab.lua for losing taps. The zero value means that there is no such code.
var losing = [256]outcome.Outcome{
	'a': outcome.Already, 'd': outcome.SoldOut, 'n': outcome.NotOpen, 'l': outcome.Limited, 'e': outcome.Empty,
}
