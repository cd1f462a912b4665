package rain

import lru "github.com/hashicorp/golang-lru/v2"

// campaignsKept is how many campaigns' amounts a cache holds.
const campaignsKept = 256

// AmountsCache holds the amounts of campaigns that are in use. It may be used by any goroutine.
type AmountsCache struct {
	kept *lru.Cache[amountsKey, *Amounts]
}

// amountsKey is what the amounts are computed from: a row of the database that somebody had changed by hand, and that
// is put right, has its own amounts again.
type amountsKey struct {
	id       string
	seed     Seed
	budget   Money
	packets  int
	split    SplitKind
	min, max Money  // max is -1 where there is none
	given    *Money // the first of given amounts: who reads them again has another list
}

// NewAmountsCache makes an empty cache.
func NewAmountsCache() *AmountsCache {
	kept, err := lru.New[amountsKey, *Amounts](campaignsKept)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &AmountsCache{kept}
}

// Of is the amounts of a campaign. An invalid split returns its Invalid.
func (c *AmountsCache) Of(of *Campaign) (*Amounts, error) {
	key := amountsKey{of.ID, of.SplitSeed, of.Budget, of.Packets, of.Split, of.Min, -1, nil}
	if of.Max != nil {
		key.max = *of.Max
	}
	if len(of.Amounts) > 0 {
		key.given = &of.Amounts[0]
	}
	if known, ok := c.kept.Get(key); ok {
		return known, nil
	}
	made, err := NewAmounts(of)
	if err == nil {
		c.kept.Add(key, made)
	}
	return made, err
}
