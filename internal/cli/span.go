package cli

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// span is how long something takes, from the least to the most: 250ms-600ms.
type span struct{ least, most time.Duration }

// UnmarshalText reads the value of a flag.
func (s *span) UnmarshalText(text []byte) (err error) {
	least, most, found := strings.Cut(string(text), "-")
	if !found {
		return fmt.Errorf("%q: give two times, such as 250ms-600ms", text)
	}
	if s.least, err = time.ParseDuration(least); err != nil {
		return err
	}
	s.most, err = time.ParseDuration(most)
	return err
}

func (s span) valid() bool { return 0 <= s.least && s.least <= s.most }

// any is one of the times, each as likely as the others.
func (s span) any() time.Duration {
	return s.least + rand.N(s.most-s.least+1) //nolint:gosec // not a secret
}
