package rain

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// CheckStored returns the faults of a campaign that was read from a database, or nil. Every row that redrain stores
// passes, so a faulty row was tampered with. It must not be computed with: numbers outside their limits make endless
// loops and slices of a negative length. SplitSpec.Validate checks that given amounts add up to the budget, because
// it reads each of them.
func (c *Campaign) CheckStored() error {
	var e Invalid
	split := c.SplitSpec()
	split.validateSize(&e)
	switch {
	case !slices.Contains(SplitKinds(), c.Split):
		e.add("split", splitRule)
	case c.Split == List && len(c.Amounts) != c.Packets:
		e.add("amounts", "holds %d amounts for %d packets", len(c.Amounts), c.Packets)
	}
	if c.Min < 1 || c.Max != nil && *c.Max < c.Min {
		e.add("min", "is above 0 and not above max")
	}
	between(&e, "shards", c.Shards, 1, MaxShards, "is 1 to %d", MaxShards)
	c.validateLanes(&e)
	e.checkStoredBounds(&c.Spec, specBounds)
	if c.Players != nil && CheckList(c.Players.List) != nil {
		e.add("players.list", "%q is not the name of a list", c.Players.List)
	}
	if !slices.Contains([]Status{Loading, Open, Paused, Closed}, c.Status) {
		e.add("status", "%q is not a status", c.Status)
	}
	if c.CreatedAt < 0 || c.ExpiresAt < 0 || c.Revision < 0 {
		e.add("created_at", "created_at, expires_at and revision are not below 0")
	}
	if !utf8.ValidString(c.ID + c.Name + c.Sponsor) {
		e.add("name", "the id, the name and the sponsor are UTF-8")
	}
	for i := range c.Rains {
		c.Rains[i].checkStored(i, &e)
	}
	return e.orNil()
}

// checkStored is CheckStored of the i-th rain.
func (r *Rain) checkStored(i int, e *Invalid) {
	field := fmt.Sprintf("rains[%d]", i)
	if r.ID == "" || !utf8.ValidString(r.ID) {
		e.add(field, "has no valid id")
	}
	if r.DurationMS < 0 || r.DurationMS > maxExpiresInMS || r.FallMS < 1 || r.FallMS > maxExpiresInMS ||
		r.DropsPerSecond < 1 || r.DropsPerSecond > MaxDropsPerSecond || r.DecoyPercent < 0 || r.DecoyPercent > 100 {
		e.add(field, "has a duration_ms, drops_per_second, fall_ms or decoy_percent out of bounds")
	}
	if r.Pacing != PacingNone && r.Pacing != PacingEven {
		e.add(field, "has an unknown pacing, %q", r.Pacing)
	}
	if _, ok := r.OddsRecord.List(); !ok || !r.Odds.valid() || r.Draws() && r.BeatMS < WaveMS {
		e.add(field, "has invalid odds, beat_ms or odds_record")
	}
	if r.StartsAt < 0 || r.StoppedAt < 0 || r.FirstWave < 0 {
		e.add(field, "starts_at, stopped_at and first_wave are not below 0")
	}
}
