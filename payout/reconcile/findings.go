package reconcile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// maxFindings is the number of named rows with the same kind of fault.
const maxFindings = 10

// findings collects the results, in the order found. It names maxFindings of each kind of fault and counts the
// others. So the result stays readable even with a million wrong rows.
type findings struct {
	texts []string
	keys  []string
	count map[string]int
	kinds []string // in the order found
}

// add adds a finding. kind groups similar faults. key identifies this one while money moves, so that the next round
// recognises it.
func (f *findings) add(kind, key, format string, args ...any) {
	key = kind + " " + key
	if slices.Contains(f.keys, key) {
		return // known: Redis may return a win twice
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

// addFault adds a row or block that differs from its hash.
func (f *findings) addFault(fault string) {
	f.add("a hash that does not agree", fault, "%s", fault)
}

// all returns the findings as text.
func (f *findings) all() []string {
	list := slices.Clone(f.texts)
	for _, kind := range f.kinds {
		if more := f.count[kind] - maxFindings; more > 0 {
			list = append(list, fmt.Sprintf("%s: %d more of these", kind, more))
		}
	}
	return list
}

// fingerprint is equal for equal findings.
func (f *findings) fingerprint(difference any) string {
	return booking.Digest(fmt.Appendf(nil, "%v %q", difference, slices.Sorted(slices.Values(f.keys))))
}

func abs(amount rain.Money) rain.Money { return max(amount, -amount) }

func txnKey(id int64) string { return strconv.FormatInt(id, 10) }

func lineKey(id int64, line int) string { return txnKey(id) + "." + strconv.Itoa(line) }

// delta returns the difference of two sums that should be equal. It stays the same while both grow.
func delta(got, want rain.Money) string { return strconv.FormatInt(int64(got-want), 10) }

func shardName(n int) string { return "shard " + strconv.Itoa(n) }

// packets formats packet numbers with a noun.
func packets(numbers rain.Numbers) string {
	if numbers.Count() == 1 {
		return "packet " + strconv.Itoa(numbers[0].First)
	}
	return "packets " + inWords(numbers)
}

// be returns the verb for packets.
func be(numbers rain.Numbers) string {
	if numbers.Count() == 1 {
		return "is"
	}
	return "are"
}

// inWords formats numbers.
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
