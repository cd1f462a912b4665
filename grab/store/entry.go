package store

import (
	"fmt"
	"strings"

	"redrain/rain"
)

// parseEntry reads an entry of the outbox: the field "wins" with a line "<packet> <amount> <drop> <user>" for each
// win, or the field "reclaim" with "<packets> <amount>".
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
