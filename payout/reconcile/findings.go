package reconcile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// maxFindings is how many rows with the same fault are named.
const maxFindings = 10

// findings gathers what a reconciliation has found, in the order found. Of each kind of fault it names maxFindings and
// counts the others, so that a ledger with a million wrong rows still gives an answer that can be read.
type findings struct {
	texts []string
	keys  []string
	count map[string]int
	kinds []string // in the order found
}

// add notes a fault. kind groups faults of the same sort; key is what stays the same about this one while money goes on
// moving, so that the same fault is recognised in the next round.
func (f *findings) add(kind, key, format string, args ...any) {
	key = kind + " " + key
	if slices.Contains(f.keys, key) {
		return // said already: Redis may give a win twice
	}
	if f.count == nil {
		f.count = map[string]int{}
	}
	if f.count[kind]++; f.count[kind] == 1 {
		f.kinds = append(f.kinds, kind)
	}
	if f.count[kind] > maxFindings {
		return
	}
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
	f.keys = append(f.keys, key)
}

// addFault notes a row, or a block of rows, that is not what was hashed.
func (f *findings) addFault(fault chain.Fault) {
	f.add("a hash that does not agree", fault.String(), "%s", fault)
}

// all is what was found, in words.
func (f *findings) all() []string {
	list := slices.Clone(f.texts)
	for _, kind := range f.kinds {
		if more := f.count[kind] - maxFindings; more > 0 {
			list = append(list, fmt.Sprintf("%s: %d more of these", kind, more))
		}
	}
	return list
}

// fingerprint is the same for the same faults.
func (f *findings) fingerprint(difference any) string {
	return booking.Digest(fmt.Appendf(nil, "%v %q", difference, slices.Sorted(slices.Values(f.keys))))
}

func abs(amount rain.Money) rain.Money { return max(amount, -amount) }

func txnKey(id int64) string { return strconv.FormatInt(id, 10) }

func lineKey(id int64, line int) string { return txnKey(id) + "." + strconv.Itoa(line) }

// delta is what remains the same of two sums that should be equal while both go on growing.
func delta(got, want rain.Money) string { return strconv.FormatInt(int64(got-want), 10) }

func shardName(n int) string { return "shard " + strconv.Itoa(n) }

// packets names packets.
func packets(numbers rain.Numbers) string {
	if numbers.Count() == 1 {
		return "packet " + strconv.Itoa(numbers[0].First)
	}
	return "packets " + inWords(numbers)
}

// be is the verb for packets.
func be(numbers rain.Numbers) string {
	if numbers.Count() == 1 {
		return "is"
	}
	return "are"
}

// inWords is some numbers as a person writes them.
func inWords(numbers rain.Numbers) string {
	parts := make([]string, 0, maxFindings)
	for i, r := range numbers {
		switch {
		case i == maxFindings:
			return fmt.Sprintf("%s and %d more", strings.Join(parts, ", "), numbers[i:].Count())
		case r.First == r.Last:
			parts = append(parts, strconv.Itoa(r.First))
		default:
			parts = append(parts, fmt.Sprintf("%d to %d", r.First, r.Last))
		}
	}
	return strings.Join(parts, ", ")
}
