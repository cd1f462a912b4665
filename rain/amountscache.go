package rain

import lru "github.com/hashicorp/golang-lru/v2"

// campaignsKept is the number of campaigns whose amounts a cache holds.
const campaignsKept = 256

// AmountsCache holds the amounts of campaigns that are in use. It is safe for concurrent use.
type AmountsCache struct {
	kept *lru.Cache[amountsKey, *Amounts]
}

// amountsKey holds every input of the amounts. So a tampered campaign row and the restored one have different
// entries.
type amountsKey struct {
	id       string
	seed     Seed
	budget   Money
	packets  int
	split    SplitKind
	min, max Money  // max is -1 if there is none
	given    *Money // address of the first given amount: each read of the row makes another list
}

// NewAmountsCache returns an empty cache.
func NewAmountsCache() *AmountsCache {
	kept, err := lru.New[amountsKey, *Amounts](campaignsKept)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &AmountsCache{kept}
}

// Of returns the amounts of a campaign. If the split is invalid, it returns an Invalid.
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
