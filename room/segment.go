package room

import "sync"

// readyBatch is how many members a segment hands to the workers at once: enough to make their lock cheap, few
// enough that the writing begins while the rest of the room is still being handed its frame.
const readyBatch = 128

// segment is a part of a room's members, in no order.
type segment struct {
	mu      sync.Mutex
	members []*Member // the place of each is its Member.place
}

func (s *segment) add(m *Member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.place = len(s.members)
	s.members = append(s.members, m)
}

// remove puts the last member in the place of the one that goes.
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

// hand queues a frame for each member. It waits for nobody: queueing does not block.
func (s *segment) hand(lane Lane, f frame, to *flushers) {
	var ready chain
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if !m.push(lane, f) {
			continue
		}
		ready.add(lane, m)
		if ready.n == readyBatch {
			to.ready(lane, ready)
			ready = chain{}
		}
	}
	to.ready(lane, ready)
}
