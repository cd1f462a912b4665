package testenv

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
)

// seedVariable names the seed of [Random] in the environment, to have a failure again.
const seedVariable = "REDRAIN_SEED"

// Random returns a source of random numbers for one test. Its seed is in the test's log; REDRAIN_SEED in the
// environment repeats the numbers. It is safe for concurrent use, but then the order is not repeatable.
func Random(t T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if given := os.Getenv(seedVariable); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("testenv: %s: %v", seedVariable, err)
		}
	}
	t.Logf("%s=%d", seedVariable, seed)
	return rand.New(&lockedSource{source: rand.NewPCG(seed, 0)})
}

type lockedSource struct {
	mu     sync.Mutex
	source *rand.PCG
}

func (s *lockedSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Uint64()
}

// Namespace returns a short token, unique to the test, of [a-z0-9] and not beginning with a digit. As a part of keys,
// subjects, stream and database names it separates tests on a shared server.
func Namespace(t T) string {
	t.Helper()
	const letters = 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36 // eight digits of base 36
	return "t" + strconv.FormatUint(rand.Uint64N(letters), 36)
}

// HostileTexts are texts that a careless program cannot store, cuts, changes, or takes for something else.
func HostileTexts() []string {
	return []string{
		"", " ", "\x00", "a\x00b", "\x1b[2J", "a\r\nb", "\t", "\u2028", "\u202e",
		"\xff", "\xc0\xaf", "\xe4", "a\xf0\x9f\x98", "\xed\xa0\x80", "\xed\xb0\x80", "\xf4\x90\x80\x80",
		"\ufffe", "\ufffd",
		"😀", "\U0010ffff", "張三 ㊙", "e\u0301", "ﬃ", "ı", "ß", "\u200b", "A ", "a ", "%", "_", "\\", `\'`,
		"'", "''", `"`, "`", "?", "' OR 1=1 -- ", "\xbf' OR 1=1 -- ", "_utf8mb4 x'61'", "/*!50000 x */", ";", "--", "#",
		"<script>alert(1)</script>", `{"a":1}`, "null", "NaN", "-1", "9223372036854775808", "1e400", "../../etc/passwd",
		"=1+1", strings.Repeat("x", 501), strings.Repeat("😀", 130), strings.Repeat("\xff", 300),
		strings.Repeat("\x00", 200), strings.Repeat("a", 70_000),
	}
}
