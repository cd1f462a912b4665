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

// keyKeptMS is the time for which an idempotency key means the same request, in milliseconds.
const keyKeptMS = 24 * 3_600_000

// NewID returns a random id, or the first id of an idempotency key. So a repeated request finds the object that the
// interrupted one has created. See docs/understand/architecture.md, "Repeated requests", for the reason why the
// ledger's kept answers do not suffice.
func NewID(prefix, key string) string {
	for id := range ids(prefix, key) {
		return id
	}
	return "" // not reached: the sequence is infinite
}

// ids returns random ids, or the ids of an idempotency key: one for each request that used it, in their order.
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

// madeBy reports whether the object under an id of a key belongs to the current request. A key belongs to one request
// for a day; later it may be used for another. ageMS is the time since the object is over. If like is false, the object
// differs from the request, and the error is ledger.ErrIdempotencyUnequal.
func madeBy(ageMS int64, like bool) (same bool, err error) {
	if ageMS >= keyKeptMS {
		return false, nil
	}
	if !like {
		return false, ledger.ErrIdempotencyUnequal
	}
	return true, nil
}

// NewSeed returns a random seed of cryptographic strength.
func NewSeed() rain.Seed {
	var seed rain.Seed
	_, _ = rand.Read(seed[:]) // never fails: crypto/rand's documentation
	return seed
}
