package campaigns

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"iter"
	"strings"

	"redrain/payout/ledger"
	"redrain/rain"
)

// keyKeptMS is how long an idempotency key means the same request, in milliseconds.
const keyKeptMS = 24 * 3_600_000

// NewID is a fresh id, or with an idempotency key the first id that belongs to it: a request that was cut off anywhere,
// and is sent again, finds what it made the first time. docs/understand/architecture.md, "Repeated requests", says why
// the answers that the ledger keeps are not enough for that.
func NewID(prefix, key string) string {
	for id := range ids(prefix, key) {
		return id
	}
	return "" // not reached: there are ids without end
}

// ids are fresh ids, or those that belong to an idempotency key: one for each request that it was used for, in their
// order.
func ids(prefix, key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for use := 0; ; use++ {
			id := strings.ToLower(rand.Text()[:16])
			if key != "" {
				sum := sha256.Sum256(fmt.Appendf(nil, "redrain id v1\x00%s\x00%s\x00%d", prefix, key, use))
				id = strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
			}
			if !yield(prefix + id) {
				return
			}
		}
	}
}

// madeBy tells whether what was found under an id of a key was made by the request that asks now, which is so for a day
// after it; later the key may be used for another request. ageMS is since when it is over, and like whether it is what
// is asked for: if not, the error is ledger.ErrIdempotencyUnequal.
func madeBy(ageMS int64, like bool) (same bool, err error) {
	if ageMS >= keyKeptMS {
		return false, nil
	}
	if !like {
		return false, ledger.ErrIdempotencyUnequal
	}
	return true, nil
}

// NewSeed is a fresh seed that nobody can guess.
func NewSeed() rain.Seed {
	var seed rain.Seed
	_, _ = rand.Read(seed[:]) // never fails: crypto/rand's documentation
	return seed
}
