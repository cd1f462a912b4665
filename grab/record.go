package grab

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"redrain/rain"
)

// errRecord is text in Redis that no script of this program has written.
var errRecord = errors.New("not what a script has written")

// record is one win as the wins hash keeps it: with the outbox entry that it went out in.
type record struct {
	win   rain.Win
	entry string // the entry's id
}

// text is what stands in the hash for it. The user is the hash's field.
func (r record) text() string {
	return ";" + r.win.Drop + "=" + strconv.Itoa(r.win.Packet) + "=" + strconv.FormatInt(int64(r.win.Amount), 10) + "=" + r.entry
}

// parseRecords reads a player's wins as grab.lua keeps them: ";<drop>=<packet>=<amount>=<outbox entry>" for each, in the order
// won.
func parseRecords(user, text string) ([]record, error) {
	if text == "" {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(text, ";")
	if !ok {
		return nil, fmt.Errorf("wins of %q: %q: %w", user, text, errRecord)
	}
	records := make([]record, 0, strings.Count(rest, ";")+1)
	for part := range strings.SplitSeq(rest, ";") {
		r, err := parseRecord(user, part)
		if err != nil {
			return nil, fmt.Errorf("wins of %q: %q: %w", user, part, err)
		}
		records = append(records, r)
	}
	return records, nil
}

func parseRecord(user, part string) (record, error) {
	f := strings.Split(part, "=")
	if len(f) != 4 || !isEntryID(f[3]) {
		return record{}, errRecord
	}
	win, err := winOf(f[1], f[2], f[0], user)
	return record{win: win, entry: f[3]}, err
}

// winsOf are the wins without their entries; nil where there are none.
func winsOf(records []record) []rain.Win {
	if len(records) == 0 {
		return nil
	}
	wins := make([]rain.Win, len(records))
	for i, r := range records {
		wins[i] = r.win
	}
	return wins
}

// isEntryID tells whether an id is as Redis writes those of a stream: "<ms>-<seq>".
func isEntryID(id string) bool {
	ms, seq, _ := strings.Cut(id, "-")
	return isNumber(ms) && isNumber(seq)
}

// parseEntry reads an entry of the outbox: the field "wins" with a line "<packet> <amount> <drop> <user>" for each win, or
// the field "reclaim" with "<packets> <amount>".
func parseEntry(ref rain.EntryRef, values map[string]string) (rain.Entry, error) {
	entry := rain.Entry{Ref: ref}
	if _, _, err := ref.Position(); err != nil {
		return rain.Entry{}, err
	}
	wins, hasWins := values["wins"]
	reclaim, hasReclaim := values["reclaim"]
	var err error
	switch {
	case len(values) != 1:
		err = errRecord
	case hasWins:
		entry.Wins, err = parseLines(wins)
	case hasReclaim:
		entry.Reclaim, err = parseReclaim(reclaim)
	default:
		err = errRecord
	}
	if err != nil {
		return rain.Entry{}, fmt.Errorf("outbox entry %s: %w", ref, err)
	}
	return entry, nil
}

func parseLines(lines string) ([]rain.Win, error) {
	wins := make([]rain.Win, 0, strings.Count(lines, "\n")+1)
	for line := range strings.SplitSeq(lines, "\n") {
		// The user is last and may have spaces.
		f := strings.SplitN(line, " ", 4)
		if len(f) != 4 {
			return nil, fmt.Errorf("%q: %w", line, errRecord)
		}
		win, err := winOf(f[0], f[1], f[2], f[3])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		wins = append(wins, win)
	}
	return wins, nil
}

func parseReclaim(text string) (*rain.Reclaim, error) {
	a, b, _ := strings.Cut(text, " ")
	packets, ok1 := number(a)
	amount, ok2 := number(b)
	if !ok1 || !ok2 || packets < 1 || packets > rain.MaxPackets || amount < 1 || amount > int64(rain.MaxBudget) {
		return nil, fmt.Errorf("%q: %w", text, errRecord)
	}
	return &rain.Reclaim{Packets: int(packets), Amount: rain.Money(amount)}, nil
}

// winOf checks each part of a win, because it is about to become money.
func winOf(packet, amount, drop, user string) (rain.Win, error) {
	p, ok1 := number(packet)
	a, ok2 := number(amount)
	_, ok3 := rain.ParseDrop(drop)
	if !ok1 || !ok2 || !ok3 || p >= rain.MaxPackets || a < 1 || a > int64(rain.MaxBudget) {
		return rain.Win{}, errRecord
	}
	if err := rain.CheckUser(user); err != nil {
		return rain.Win{}, fmt.Errorf("%w: %w", errRecord, err)
	}
	return rain.Win{User: user, Packet: int(p), Amount: rain.Money(a), Drop: drop}, nil
}

// number reads digits as the scripts write them: no sign, no leading zero.
func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && isNumber(s)
}

// isNumber is number without its value, and without a limit.
func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s == "0" || (s != "" && s[0] != '0')
}
