package room

import "sync"

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
