package rain

import (
	"errors"
	"fmt"
	"math"
)

// Money is an amount in minor units, 1/100 yuan (分). It is never a float. Amounts that are paid are
// positive; only a ledger line may be negative.
type Money int64

// MaxBudget is the largest budget of one campaign or one deposit, in minor units (ten trillion yuan).
// No sum in the program can overflow, and it is exact as a JSON number in a browser.
const MaxBudget Money = 1_000_000_000_000_000

// ErrMoneyOverflow is returned by Sum if the total does not fit.
var ErrMoneyOverflow = errors.New("the amounts add up to more than money can hold")

// String formats the amount in yuan with two decimals, for logs and terminals: 88 is "0.88".
func (m Money) String() string {
	sign := ""
	u := uint64(m) //nolint:gosec // if the amount is negative, -u below is its size, also for the least one
	if m < 0 {
		sign, u = "-", -u
	}
	return fmt.Sprintf("%s%d.%02d", sign, u/100, u%100)
}

// Sum adds amounts. It returns ErrMoneyOverflow instead of wrapping round.
func Sum(amounts []Money) (Money, error) {
	var total Money
	for _, a := range amounts {
		if (a > 0 && total > math.MaxInt64-a) || (a < 0 && total < math.MinInt64-a) {
			return 0, ErrMoneyOverflow
		}
		total += a
	}
	return total, nil
}
