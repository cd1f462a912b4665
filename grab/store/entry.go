package store

import (
	"fmt"
	"strings"

	"redrain/internal/seal"
	"redrain/rain"
)

// The fields of an outbox entry.
const (
	entryAt      = "at"      // when it was sealed, Unix ms
	entryPackets = "packets" // ranges, in the order of the wins
	entryWins    = "wins"    // a line "<seal> <ticket> <user>" for each win
	entryReclaim = "reclaim" // the seal of the closing
)

// appendLine appends the line that the script writes to the outbox if the tap wins.
func appendLine(b []byte, ring *seal.Ring, campaign, user string, of rain.Ticket, at int64) []byte {
	var room [32]byte
	ticket := of.Append(room[:0])
	b = append(ring.AppendTap(b, campaign, user, ticket, at), ' ')
	b = append(append(b, ticket...), ' ')
	return append(b, user...)
}

// parseEntry reads an entry of the outbox.
func parseEntry(ref rain.EntryRef, values map[string]string) (entry rain.Entry, err error) {
	entry.Ref = ref
	if _, _, err := ref.Position(); err != nil {
		return rain.Entry{}, err
	}
	at, ok := number(values[entryAt])
	numbers, err := rain.ParseNumbers(values[entryPackets], rain.MaxPackets)
	if !ok || err != nil || len(numbers) == 0 || len(values) != 3 {
		return rain.Entry{}, fmt.Errorf("outbox entry %s: %w", ref, errRecord)
	}
	entry.SealedAt = at
	if mark, reclaim := values[entryReclaim]; reclaim {
		entry.Reclaim = &rain.Reclaim{Numbers: numbers, Seal: mark}
		return entry, nil
	}
	if entry.Wins, err = parseLines(values[entryWins], numbers); err != nil {
		return rain.Entry{}, fmt.Errorf("outbox entry %s: %w", ref, err)
	}
	return entry, nil
}

// parseLines reads the lines of wins, and gives them their packets.
func parseLines(text string, numbers rain.Numbers) ([]rain.Win, error) {
	wins := make([]rain.Win, 0, strings.Count(text, "\n")+1)
	for line := range strings.SplitSeq(text, "\n") {
		wins = append(wins, parseLine(line))
	}
	if numbers.Count() != len(wins) {
		return nil, fmt.Errorf("%d packets for %d wins: %w", numbers.Count(), len(wins), errRecord)
	}
	i := 0
	for packet := range numbers.Each() {
		wins[i].Packet = packet
		i++
	}
	return wins, nil
}

func parseLine(line string) rain.Win {
	mark, rest, _ := strings.Cut(line, " ")
	ticket, user, _ := strings.Cut(rest, " ") // the user may have spaces
	return rain.Win{User: user, Drop: ticket, Seal: mark}
}
