package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"redrain/rain"
)

// errRecord means that no script of this program wrote a text in Redis.
var errRecord = errors.New("no script has written this record")

// Record is one win in the form of the wins hash, with its outbox entry.
type Record struct {
	Win   rain.Win
	Entry string // the entry's id
}

// winMark separates user and ticket in the field names of wins. No user has it.
const winMark = "\n"

// field returns the win's field of the wins hash.
func (r Record) field() string { return r.Win.User + winMark + r.Win.Drop }

// parseRecord parses a win in the hash: "<packet> <outbox entry> <ticket won before that>".
func parseRecord(user, ticket, text string) (r Record, before string, err error) {
	packet, rest, _ := strings.Cut(text, " ")
	entry, before, ok := strings.Cut(rest, " ")
	if !ok || !isEntryID(entry) {
		return Record{}, "", fmt.Errorf("win of %q, %q: %q: %w", user, ticket, text, errRecord)
	}
	if r.Win, err = winOf(packet, ticket, user); err != nil {
		return Record{}, "", fmt.Errorf("win of %q, %q: %q: %w", user, ticket, text, err)
	}
	r.Entry = entry
	return r, before, nil
}

// isEntryID reports whether an id has the form of a stream's: "<ms>-<seq>".
func isEntryID(id string) bool {
	ms, seq, _ := strings.Cut(id, "-")
	return isNumber(ms) && isNumber(seq)
}

// winOf checks each part of a win, because it is about to become money.
func winOf(packet, ticket, user string) (rain.Win, error) {
	p, ok1 := number(packet)
	_, ok2 := rain.ParseTicket(ticket)
	if !ok1 || !ok2 || p >= rain.MaxPackets {
		return rain.Win{}, errRecord
	}
	if err := rain.CheckUser(user); err != nil {
		return rain.Win{}, fmt.Errorf("%w: %w", errRecord, err)
	}
	return rain.Win{User: user, Packet: int(p), Drop: ticket}, nil
}

// number parses digits as the scripts write them: no sign, no leading zero.
func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && isNumber(s)
}

// isNumber reports whether a text is such digits, in any number.
func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s == "0" || (s != "" && s[0] != '0')
}
