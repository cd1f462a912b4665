package testenv

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
)

// seedVariable names the seed of [Random] in the environment, to have a failure again.
const seedVariable = "REDRAIN_SEED"

// Random is a source of chance for one test. Its seed is in the test's log, which a failure shows; REDRAIN_SEED in the
// environment gives the same numbers again. Several goroutines may use it; who gets which number is then chance too.
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
