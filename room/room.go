package room

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallelFrom is the number of members from which fan-out pays for more than one processor.
const parallelFrom = 1024

// Room holds the members of one campaign on this node. An emptied room stays usable and empty; the next member of the
// campaign opens another.
type Room struct {
	workers  *workers
	campaign string
	members  atomic.Int64
	online   atomic.Int64 // members that play
	guests   atomic.Int64 // guests among them
	segments []segment
	next     int // the segment of the next member; guarded by Lobby.mu
}

func newRoom(to *workers, campaign string) *Room {
	return &Room{workers: to, campaign: campaign, segments: make([]segment, runtime.GOMAXPROCS(0))}
}

// Campaign returns the id of the room's campaign.
func (r *Room) Campaign() string { return r.campaign }

// Members returns the number of connections in the room, including those that only watch.
func (r *Room) Members() int { return int(r.members.Load()) }

// Online returns the number of connections that play.
func (r *Room) Online() int { return int(r.online.Load()) }

// Guests returns the number of guests' connections that play.
func (r *Room) Guests() int { return int(r.guests.Load()) }

// Broadcast sends a message to all members of the room. It returns when each member has it queued, without waiting
// for any write. So messages of one goroutine in one lane arrive in order. The payload must not be changed
// afterwards.
func (r *Room) Broadcast(lane Lane, payload []byte) {
	f := sharedFrame(payload)
	if r.Members() < parallelFrom {
		for i := range r.segments {
			r.segments[i].broadcast(lane, f, r.workers)
		}
		return
	}
	var wg sync.WaitGroup
	for i := range r.segments[1:] {
		wg.Go(func() { r.segments[i+1].broadcast(lane, f, r.workers) })
	}
	r.segments[0].broadcast(lane, f, r.workers)
	wg.Wait()
}

// segment is a part of a room's members, in no order.
type segment struct {
	mu      sync.Mutex
	members []*Member // each knows its index: Member.place
}

func (s *segment) add(m *Member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.place = len(s.members)
	s.members = append(s.members, m)
}

// remove moves the last member to the position of the one that leaves.
func (s *segment) remove(m *Member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.members) - 1
	s.members[m.place] = s.members[last]
	s.members[m.place].place = m.place
	s.members[last] = nil
	s.members = s.members[:last]
	if cap(s.members) > 64 && last < cap(s.members)/4 {
		s.members = append(make([]*Member, 0, cap(s.members)/2), s.members...) // a crowd has left
	}
}

// broadcast queues a frame for each member. It waits for no write.
func (s *segment) broadcast(lane Lane, f frame, to *workers) {
	ready := handover{lane: lane, to: to}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if m.push(lane, f) {
			ready.add(m)
		}
	}
	ready.flush()
}
