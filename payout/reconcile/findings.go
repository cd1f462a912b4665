package reconcile

import (
	"fmt"
	"regexp"
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
	marks []string // the texts, as they are compared with the ones of another round
	count map[string]int
	kinds []string // in the order found
}

// add adds a finding, unless it has the same text as one before. kind groups similar faults.
func (f *findings) add(kind, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(f.texts, text) {
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
	f.texts = append(f.texts, text)
	if slices.Contains(moving, kind) {
		text = digits.ReplaceAllString(text, "#")
	}
	f.marks = append(f.marks, text)
}

// addFault adds a row or block that differs from its hash.
func (f *findings) addFault(fault string) {
	f.add("a hash that does not agree", "%s", fault)
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

// moving are the kinds of findings whose numbers change while money moves.
var moving = []string{"sums", "the tally", "a state that is not its wins", "a state that is not its stock",
	"a mark that was set back", "an outbox that was changed", "a player whose wins are counted wrong"}

// digits matches a number in a finding.
var digits = regexp.MustCompile(`\d+`)

// fingerprint is equal for equal findings. The numbers of moving kinds do not count, so that the next round recognises
// them.
func (f *findings) fingerprint(difference any) string {
	return booking.Digest(fmt.Appendf(nil, "%v %q", difference, slices.Sorted(slices.Values(f.marks))))
}

func abs(amount rain.Money) rain.Money { return max(amount, -amount) }

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
