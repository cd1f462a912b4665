package testenv

import (
	"math/rand/v2"
	"strconv"
)

// Namespace returns a short token of [a-z0-9] that begins with a letter and that no other test has: a part of keys,
// subjects, stream and database names that keeps tests on a shared server apart.
func Namespace(t T) string {
	t.Helper()
	const letters = 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 // eight digits of base 36
	return "t" + strconv.FormatUint(rand.Uint64N(letters), 36)
}
