package statement

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"redrain/rain"
)

// amountForm is an amount: a sign and a currency symbol, digits, with or without commas between thousands, and
// decimals after a point. A comma before decimals, as some countries write, is refused: 1,234 could be either.
var amountForm = regexp.MustCompile(`^([+-]?)[¥￥$€£]?([+-]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d*))?$`)

// errNoAmount is the error of an invalid amount.
var errNoAmount = errors.New("an amount is like 1234.50 or 1,234.50")

// parseAmount reads an amount in units of 100, or in the smallest unit if minor is true, which has no decimals.
func parseAmount(text string, minor bool) (amount rain.Money, negative bool, err error) {
	m := amountForm.FindStringSubmatch(clean(text))
	if len(m) != 5 || m[1] != "" && m[2] != "" {
		return 0, false, fmt.Errorf("%s is no amount: %w", quote(text), errNoAmount)
	}
	decimals := strings.TrimRight(m[4], "0")
	most := 2
	if minor {
		most = 0
	}
	if len(decimals) > most {
		return 0, false, fmt.Errorf("%s has parts of the smallest unit", quote(text))
	}
	digits := strings.ReplaceAll(m[3], ",", "") + decimals + strings.Repeat("0", most-len(decimals))
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || rain.Money(n) > rain.MaxBudget {
		return 0, false, fmt.Errorf("%s is too large", quote(text))
	}
	return rain.Money(n), m[1]+m[2] == "-", nil
}
