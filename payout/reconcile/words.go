package reconcile

import (
	"fmt"
	"strconv"
	"strings"

	"redrain/rain"
)

// moves says what a line does to its account.
func moves(amount rain.Money) string {
	if amount < 0 {
		return fmt.Sprintf("gives %d", -amount)
	}
	return fmt.Sprintf("gets %d", amount)
}

func abs(amount rain.Money) rain.Money { return max(amount, -amount) }

func linesInWords(lines []bookedLine) string {
	var words []string
	for _, ln := range lines[:min(len(lines), maxFindings)] {
		words = append(words, ln.account+" "+moves(ln.amount))
	}
	if len(lines) > maxFindings {
		words = append(words, "and others")
	}
	return strings.Join(words, ", ")
}

func txnKey(id int64) string { return strconv.FormatInt(id, 10) }

func lineKey(id int64, line int) string { return txnKey(id) + "." + strconv.Itoa(line) }

// delta is what remains the same of two sums that should be equal while both go on growing.
func delta(got, want rain.Money) string { return strconv.FormatInt(int64(got-want), 10) }

func shardName(n int) string { return "shard " + strconv.Itoa(n) }
