package rain

import (
	"errors"
	"slices"
)

// Status is the stored state of a campaign. Operators and players see State instead, which also says whether a rain
// is falling.
type Status string

// The states of a campaign; doc.go draws the transitions.
const (
	Loading Status = "loading" // funded, its packets are being stocked
	Open    Status = "open"    // stocked: rains may fall
	Paused  Status = "paused"  // taps are refused until it is resumed
	Closed  Status = "closed"  // final; the rest goes back to the sponsor
)

// The states of an open campaign that operators and players see.
const (
	StateReady   = "ready"
	StateRaining = "raining"
)

// Errors of a campaign's transitions.
var (
	ErrClosed      = errors.New("the campaign is closed")
	ErrNotStocked  = errors.New("the campaign's packets are still being stocked")
	ErrRainRunning = errors.New("another rain of the campaign is scheduled or falling")
	ErrUnknownRain = errors.New("the campaign has no such rain")
)

// Spec is a campaign as an operator posts it. Its JSON form is the contract's. The tag column names the column of the
// ledger if it differs from the name in JSON. Settings describes the other tags.
type Spec struct {
	Name        string    `json:"name"`
	Sponsor     string    `json:"sponsor"`
	Budget      Money     `json:"budget"`
	Packets     int       `json:"packets"`
	Split       SplitKind `default:"double_mean" json:"split"`
	Min         Money     `column:"min_amount"   default:"1"          json:"min"`
	Max         *Money    `column:"max_amount"   json:"max"`                              // nil: no maximum
	Amounts     []Money   `column:"-"            json:"amounts"`                          // for SplitList only
	WinsPerUser int       `default:"1"           json:"wins_per_user" range:"1..1000000"` // over all rains
	TapsPerUser int       `json:"taps_per_user"  range:"0..1000000"   zero:"no limit"`    // over all rains; 0: no limit
	Shards      int       `default:"1"           json:"shards"        range:"1..256"`
	// Capacity is the number of players that may be in the room, over all nodes; 0: no limit. AdmitPerSecond is the
	// number of players admitted in one second; 0: no limit.
	Capacity       int `json:"capacity"         range:"0..100000000" zero:"no limit"`
	AdmitPerSecond int `json:"admit_per_second" range:"0..1000000"   zero:"all at once"`
	// Players limits the campaign to a list of players; nil: every player.
	Players *Players `column:"-" json:"players"`
	// GuestsShare is the part of the packets that only guests may win. The other packets are the players'. If it is
	// none, guests and players win from one stock.
	GuestsShare Share `json:"guests_share"`

	ExpiresInMS int64 `default:"86400000" json:"expires_in_ms" range:"1,000..31622400000"`
}

// Players limits who may take part in a campaign.
type Players struct {
	List string `json:"list"` // only the players on the list with this name
}

// Invited returns the name of the list of invited players; "" for every player.
func (s *Spec) Invited() string {
	if s.Players == nil {
		return ""
	}
	return s.Players.List
}

// SplitSpec returns the part of the spec that describes how the budget is cut.
func (s *Spec) SplitSpec() SplitSpec {
	return SplitSpec{Budget: s.Budget, Packets: s.Packets, Split: s.Split, Min: s.Min, Max: s.Max, Amounts: s.Amounts}
}

// Campaign is a budget, its split, and the rains that hand it out. Times are Unix milliseconds on the cluster's clock.
type Campaign struct {
	ID string
	Spec
	Status    Status
	CreatedAt int64
	ExpiresAt int64
	Revision  int64 // rises with each change; the larger one is the newer
	Drained   bool  // closed, and the ledger has every entry of its outboxes
	SplitSeed Seed
	Rains     []Rain // oldest first
	// Fault describes why the stored row is invalid; "" if it is valid. A campaign with a fault can be shown and
	// proved, and nothing else is done with it.
	Fault string
}

// Waits reports whether players may have to wait before they are admitted. A closed campaign admits every player:
// there is nothing to win, and waiting players should learn that it is over.
func (c *Campaign) Waits() bool {
	return c.Status != Closed && (c.Capacity > 0 || c.AdmitPerSecond > 0)
}

// State returns the state that operators and players see: ready, raining, paused, closed, or loading while the
// campaign is stocked. now is the cluster's time.
func (c *Campaign) State(now int64) string {
	if c.Status != Open {
		return string(c.Status)
	}
	if r := c.Current(); r != nil && r.Phase(now, false) == PhaseFalling {
		return StateRaining
	}
	return StateReady
}

// Current returns the newest rain, or nil. It may have ended.
func (c *Campaign) Current() *Rain {
	if len(c.Rains) == 0 {
		return nil
	}
	return &c.Rains[len(c.Rains)-1]
}

// Rain finds a rain by its id, or returns ErrUnknownRain.
func (c *Campaign) Rain(id string) (*Rain, error) {
	for i := range c.Rains {
		if c.Rains[i].ID == id {
			return &c.Rains[i], nil
		}
	}
	return nil, ErrUnknownRain
}

// Clone returns a copy. Transitions of the copy leave the original as it is.
func (c *Campaign) Clone() *Campaign {
	d := *c
	d.Rains = slices.Clone(c.Rains)
	return &d
}

// Stocked opens a loading campaign, once every packet of the split is in Redis. Otherwise it changes nothing.
func (c *Campaign) Stocked() {
	if c.Status == Loading {
		c.Status = Open
	}
}

// Pause refuses taps until Resume. Pausing a paused campaign changes nothing.
func (c *Campaign) Pause() error { return c.setStatus(Paused) }

// Resume undoes Pause. The schedule did not shift in the meantime.
func (c *Campaign) Resume() error { return c.setStatus(Open) }

func (c *Campaign) setStatus(to Status) error {
	if err := c.checkOpened(); err != nil {
		return err
	}
	c.Status = to
	return nil
}

// checkOpened returns an error unless the campaign is open or paused.
func (c *Campaign) checkOpened() error {
	switch c.Status {
	case Closed:
		return ErrClosed
	case Loading:
		return ErrNotStocked
	}
	return nil
}

// Close ends the campaign and its rain. Closing a closed campaign changes nothing.
func (c *Campaign) Close(now int64) error {
	if c.Status == Loading {
		return ErrNotStocked
	}
	if r := c.Current(); r != nil && c.Status != Closed {
		r.stop(now)
	}
	c.Status = Closed
	return nil
}

// AddRain schedules a rain. The caller supplies the id and the seed, so that this is a pure function.
func (c *Campaign) AddRain(id string, spec RainSpec, seed Seed, now int64) (*Rain, error) {
	if err := c.checkOpened(); err != nil {
		return nil, err
	}
	var first int64
	if last := c.Current(); last != nil {
		if now < last.EndsAt() {
			return nil, ErrRainRunning
		}
		first = last.FirstWave + last.Waves()
	}
	r := spec.at(now)
	r.ID, r.Campaign, r.Seed, r.FirstWave = id, c.ID, seed, first
	c.Rains = append(c.Rains, r)
	return c.Current(), nil
}

// StopRain ends a rain now. Stopping one that has ended changes nothing.
func (c *Campaign) StopRain(id string, now int64) (*Rain, error) {
	r, err := c.Rain(id)
	if err != nil {
		return nil, err
	}
	r.stop(now)
	return r, nil
}
