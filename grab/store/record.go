package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"redrain/rain"
)

// errRecord is text in Redis that no script of this program has written.
var errRecord = errors.New("not what a script has written")

// Record is one win as the wins hash keeps it: with the outbox entry that it went out in.
type Record struct {
	Win   rain.Win
	Entry string // the entry's id
}

// text is what stands in the hash for it. The user is the hash's field.
func (r Record) text() string {
	return ";" + r.Win.Drop + "=" + strconv.Itoa(r.Win.Packet) + "=" + strconv.FormatInt(int64(r.Win.Amount),
		10) + "=" + r.Entry
}

// holding is what a player's field of the wins hash holds. Where a player may win often, the older wins are in
// blocks, which are fields of their own.
type holding struct {
	blocks  int
	wins    int        // in the blocks
	amount  rain.Money // of the wins in the blocks
	records []Record   // the wins in no block, in the order won
}

// parseHolding reads a player's field as grab.lua writes it, see there: the wins, or "<newest drop in the blocks>
// <wins in them> <blocks> <their amount>" and the wins.
func parseHolding(user, text string) (h holding, err error) {
	if text != "" && text[0] != ';' {
		at := max(0, strings.IndexByte(text, ';'))
		if h, err = parseSums(text[:at]); err != nil {
			return holding{}, fmt.Errorf("wins of %q: %q: %w", user, text, err)
		}
		text = text[at:]
	}
	h.records, err = parseRecords(user, text)
	return h, err
}

func parseSums(text string) (holding, error) {
	f := strings.Split(text, " ")
	if len(f) != 4 {
		return holding{}, errRecord
	}
	_, ok1 := rain.ParseDrop(f[0])
	wins, ok2 := number(f[1])
	blocks, ok3 := number(f[2])
	amount, ok4 := number(f[3])
	if !ok1 || !ok2 || !ok3 || !ok4 || blocks < 1 || wins < blocks || wins > rain.MaxPackets || amount < wins ||
		amount > int64(rain.MaxBudget) {
		return holding{}, errRecord
	}
	return holding{blocks: int(blocks), wins: int(wins), amount: rain.Money(amount)}, nil
}

// total is the amount of all that the player has won.
func (h holding) total() rain.Money { return h.amount + amountOf(h.records) }

func amountOf(records []Record) (sum rain.Money) {
	for _, r := range records {
		sum += r.Win.Amount
	}
	return sum
}

// fields are those of the blocks, in the order won.
func (h holding) fields(user string) []string {
	names := make([]string, h.blocks)
	for i := range names {
		names[i] = user + blockMark + strconv.Itoa(i+1)
	}
	return names
}

// blockMark is in the names of blocks, between user and number. No user has it.
const blockMark = "\n"

// isBlock tells whether a field of the wins hash is a block, and not a player's own.
func isBlock(field string) bool { return strings.Contains(field, blockMark) }

// with is all that the player has won, in the order won, given the texts of the blocks.
func (h holding) with(user string, blocks []string) ([]Record, error) {
	if h.blocks == 0 {
		return h.records, nil
	}
	all := make([]Record, 0, h.wins+len(h.records))
	for _, text := range blocks {
		records, err := parseBlock(user, text)
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	if len(all) != h.wins || amountOf(all) != h.amount {
		return nil, fmt.Errorf("wins of %q: %d in blocks, %d in all; there should be %d, %d: %w",
			user, len(all), amountOf(all), h.wins, h.amount, errRecord)
	}
	return append(all, h.records...), nil
}

// parseBlock reads a block: the newest drop in the blocks before, nothing in the first one, and the wins.
func parseBlock(user, text string) ([]Record, error) {
	at := strings.IndexByte(text, ';')
	if at > 0 {
		if _, ok := rain.ParseDrop(text[:at]); !ok {
			at = -1
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("wins of %q: %q: %w", user, text, errRecord)
	}
	return parseRecords(user, text[at:])
}

// parseRecords reads wins: ";<drop>=<packet>=<amount>=<outbox entry>" for each, in the order won.
func parseRecords(user, text string) ([]Record, error) {
	if text == "" {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(text, ";")
	if !ok {
		return nil, fmt.Errorf("wins of %q: %q: %w", user, text, errRecord)
	}
	records := make([]Record, 0, strings.Count(rest, ";")+1)
	for part := range strings.SplitSeq(rest, ";") {
		r, err := parseRecord(user, part)
		if err != nil {
			return nil, fmt.Errorf("wins of %q: %q: %w", user, part, err)
		}
		records = append(records, r)
	}
	return records, nil
}

func parseRecord(user, part string) (Record, error) {
	f := strings.Split(part, "=")
	if len(f) != 4 || !isEntryID(f[3]) {
		return Record{}, errRecord
	}
	win, err := winOf(f[1], f[2], f[0], user)
	return Record{Win: win, Entry: f[3]}, err
}

// isEntryID tells whether an id is as Redis writes those of a stream: "<ms>-<seq>".
func isEntryID(id string) bool {
	ms, seq, _ := strings.Cut(id, "-")
	return isNumber(ms) && isNumber(seq)
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

// isNumber tells whether a text is such digits, however many.
func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s == "0" || (s != "" && s[0] != '0')
}
