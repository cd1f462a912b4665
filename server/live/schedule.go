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
// an early reader has more time to choose. A drop begins above the screen and is visible some 150 ms after its moment,
// with a fall of four seconds. So a wave may take that long to the page.
const waveLeadMS = 50

// Known holds the campaigns that this node has. [cluster.Known] implements it.
type Known interface {
	Cached(id string) *rain.Campaign // nil if this node does not have it; not to be changed
}

// Schedule sends the rooms of this node the changes of their campaign and its rain, and the waves. Each node computes
// them; a falling rain needs no messages between nodes.
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
func (m *Schedule) Open(rm *room.Room) {
	campaign := rm.Campaign()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped || m.byRoom[campaign] != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &roomSchedule{room: rm, maker: m, changed: loop.NewWake(), cancel: cancel}
	// Read here and not in the goroutine, so that later changes are sent. The first member reads earlier changes after
	// joining (session.enter).
	if c := m.known.Cached(campaign); c != nil {
		s.begin(c)
	}
	m.byRoom[campaign] = s
	m.wg.Go(func() { s.run(ctx) })
}

// Empty stops serving a room; it is called after the last member has left.
func (m *Schedule) Empty(rm *room.Room) {
	campaign := rm.Campaign()
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.byRoom[campaign]; s != nil {
		s.cancel()
		delete(m.byRoom, campaign)
	}
}

// Changed passes a new version of a campaign to its room's schedule.
func (m *Schedule) Changed(c *rain.Campaign) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.byRoom[c.ID]; s != nil {
		s.changed.Signal()
	}
}

// Stop ends the schedule of every room and waits for them.
func (m *Schedule) Stop() {
	m.mu.Lock()
	m.stopped = true
	for id, s := range m.byRoom {
		s.cancel()
		delete(m.byRoom, id)
	}
	m.mu.Unlock()
	m.wg.Wait()
}

// roomSchedule serves one room.
type roomSchedule struct {
	room    *room.Room
	maker   *Schedule
	changed loop.Wake
	cancel  context.CancelFunc

	told RainState     // the last state of the rain that the room got
	seen wire.Campaign // the last version of the campaign that it got
	next int64         // the next wave to send
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
		c := s.maker.known.Cached(s.room.Campaign())
		if c == nil {
			continue // served again when it is known
		}
		next := time.Second // after a panic
		s.maker.recoverer.Do("rain schedule", func() {
			now := s.maker.clock()
			s.step(c, now)
			next = time.Duration(s.wait(c, now)) * time.Millisecond
		})
		timer.Reset(next)
	}
}

// begin joins a rain at its current wave. The welcome has the drops in the air, so the schedule sends only later waves.
func (s *roomSchedule) begin(c *rain.Campaign) {
	now := s.maker.clock()
	s.told, s.seen = RainStateOf(c, now), wire.CampaignOf(c, now)
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
	if is := wire.CampaignOf(c, now); is != s.seen {
		s.seen = is
		rm.Broadcast(room.Results, wire.Encode(wire.CampaignChange{Type: wire.TypeCampaign, Campaign: is}))
	}
	if r == nil {
		return
	}
	if is := RainStateOf(c, now); is != s.told {
		if is.rain != s.told.rain || s.told.phase == rain.PhasePaused {
			// A new rain, or one that went on unseen while it was paused: from the first wave that has not landed.
			s.next = firstInAir(r, now)
		}
		s.told = is
		rm.Broadcast(room.Results, wire.Encode(wire.RainChange{Type: wire.TypeRain,
			Rain: wire.RainOf(r, now, c.Status != rain.Open)}))
	}
	if s.told.phase != rain.PhaseCountdown && s.told.phase != rain.PhaseFalling {
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
	if r.Has(s.next) && s.told.phase != rain.PhasePaused {
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
