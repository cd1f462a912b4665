package live

import (
	"context"
	"sync"
	"time"

	"redrain/internal/loop"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/room"
)

// waveLeadMS is the time before its moment at which a wave is sent. It is short, because a wave names its decoys, and
// an early reader has more time to choose. A drop enters the screen about 150 ms after its moment (4 s fall). A wave
// may arrive that late.
const waveLeadMS = 50

// Known holds the campaigns that this node has. cluster.Known implements it.
type Known interface {
	Cached(id string) *rain.Campaign // nil if this node does not have it; not to be changed
}

// Schedule sends the rooms of this node the changes of their campaign and its rain, and the waves. Each node computes
// the waves, without messages between nodes.
type Schedule struct {
	clock     rain.Clock
	known     Known
	recoverer *loop.Recoverer

	mu      sync.Mutex
	wg      sync.WaitGroup
	byRoom  map[string]*roomSchedule
	stopped bool
}

// NewSchedule returns the schedule of this node. With a nil recoverer, panics are logged only.
func NewSchedule(clock rain.Clock, known Known, recoverer *loop.Recoverer) *Schedule {
	return &Schedule{clock: clock, known: known, recoverer: recoverer, byRoom: map[string]*roomSchedule{}}
}

// Open starts to serve a room; it is called for the first member.
func (s *Schedule) Open(rm *room.Room) {
	campaign := rm.Campaign()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.byRoom[campaign] != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	one := &roomSchedule{room: rm, schedule: s, changed: loop.NewWake(), cancel: cancel}
	// Record the current state before Open returns. So run sends every later change. The first member reads earlier
	// changes after joining (session.enter).
	if c := s.known.Cached(campaign); c != nil {
		one.begin(c)
	}
	s.byRoom[campaign] = one
	s.wg.Go(func() { one.run(ctx) })
}

// Empty stops serving a room; it is called after the last member has left.
func (s *Schedule) Empty(rm *room.Room) {
	campaign := rm.Campaign()
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.byRoom[campaign]; one != nil {
		one.cancel()
		delete(s.byRoom, campaign)
	}
}

// Changed passes a new version of a campaign to its room's schedule.
func (s *Schedule) Changed(c *rain.Campaign) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.byRoom[c.ID]; one != nil {
		one.changed.Signal()
	}
}

// Stop ends the schedule of every room and waits for them.
func (s *Schedule) Stop() {
	s.mu.Lock()
	s.stopped = true
	for id, one := range s.byRoom {
		one.cancel()
		delete(s.byRoom, id)
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// roomSchedule serves one room.
type roomSchedule struct {
	room     *room.Room
	schedule *Schedule
	changed  loop.Wake
	cancel   context.CancelFunc

	sentRain     RainState     // the last state of the rain that the room got
	sentCampaign wire.Campaign // the last version of the campaign that it got
	next         int64         // the next wave to send
}

// RainState holds the fields of a rain message that can change.
type RainState struct {
	rain  string
	phase rain.Phase
	ends  int64
}

// RainStateOf returns the state of a campaign's rain at a time, Unix ms; the zero value without a rain.
func RainStateOf(c *rain.Campaign, now int64) RainState {
	r := c.Current()
	if r == nil {
		return RainState{}
	}
	return RainState{rain: r.ID, phase: r.Phase(now, c.Status != rain.Open), ends: r.EndsAt()}
}

func (s *roomSchedule) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		case <-timer.C:
		}
		c := s.schedule.known.Cached(s.room.Campaign())
		if c == nil {
			continue // the campaign is unknown: Changed wakes the loop when the node has it
		}
		next := time.Second // after a panic
		s.schedule.recoverer.Do("rain schedule", func() {
			now := s.schedule.clock()
			s.step(c, now)
			next = time.Duration(s.wait(c, now)) * time.Millisecond
		})
		timer.Reset(next)
	}
}

// begin joins a rain at its current wave. A joining member gets the waves in the air by InAir, so the schedule sends
// only later ones.
func (s *roomSchedule) begin(c *rain.Campaign) {
	now := s.schedule.clock()
	s.sentRain, s.sentCampaign = RainStateOf(c, now), wire.CampaignOf(c, now)
	if r := c.Current(); r != nil {
		s.next = r.FirstWave
		for r.Has(s.next) && r.WaveAt(s.next)-waveLeadMS <= now {
			s.next++
		}
	}
}

// step sends the messages that are due.
func (s *roomSchedule) step(c *rain.Campaign, now int64) {
	rm, r := s.room, c.Current()
	if is := wire.CampaignOf(c, now); is != s.sentCampaign {
		s.sentCampaign = is
		rm.Broadcast(room.Results, wire.Encode(wire.CampaignChange{Type: wire.TypeCampaign, Campaign: is}))
	}
	if r == nil {
		return
	}
	if is := RainStateOf(c, now); is != s.sentRain {
		if is.rain != s.sentRain.rain || s.sentRain.phase == rain.PhasePaused {
			// After a new rain or a pause, send again from the first wave with a drop in the air.
			s.next = firstInAir(r, now)
		}
		s.sentRain = is
		rm.Broadcast(room.Results, wire.Encode(wire.RainChange{Type: wire.TypeRain,
			Rain: wire.RainOf(r, now, c.Status != rain.Open)}))
	}
	if s.sentRain.phase != rain.PhaseCountdown && s.sentRain.phase != rain.PhaseFalling {
		return
	}
	for r.Has(s.next) && r.WaveAt(s.next)-waveLeadMS <= now {
		if w := r.Wave(s.next); len(w.Drops) > 0 {
			rm.Broadcast(room.Rain, wire.Encode(wire.WaveOf(r.ID, w)))
		}
		s.next++
	}
}

// wait returns the time until the next message is due, in milliseconds. A change of the campaign ends the wait early.
func (s *roomSchedule) wait(c *rain.Campaign, now int64) int64 {
	const idle = 60_000
	r := c.Current()
	if r == nil || now >= r.EndsAt() {
		return idle
	}
	at := r.EndsAt()
	if now < r.StartsAt {
		at = min(at, r.StartsAt)
	}
	if r.Has(s.next) && s.sentRain.phase != rain.PhasePaused {
		at = min(at, r.WaveAt(s.next)-waveLeadMS)
	}
	return min(max(at-now, 1), idle)
}

// firstInAir returns the first wave with a drop in the air at a time, or else the next one.
func firstInAir(r *rain.Rain, now int64) int64 {
	n := r.FirstWave
	for r.Has(n) && r.WaveAt(n)+r.FallMS <= now {
		n++
	}
	return n
}

// InAir returns the waves for a joining player: those in the air, which the others already have.
func InAir(c *rain.Campaign, now int64) [][]byte {
	r := c.Current()
	if r == nil || c.Status != rain.Open || now >= r.EndsAt() {
		return nil
	}
	var messages [][]byte
	for n := firstInAir(r, now); r.Has(n) && r.WaveAt(n)-waveLeadMS <= now; n++ {
		if w := r.Wave(n); len(w.Drops) > 0 {
			messages = append(messages, wire.Encode(wire.WaveOf(r.ID, w)))
		}
	}
	return messages
}
