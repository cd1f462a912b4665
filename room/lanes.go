package room

// Lane is one of a member's two outbound queues.
type Lane int

// The lanes.
const (
	Results Lane = iota // in order, never dropped
	Rain                // only the newest matter; the oldest is dropped first

	laneCount = 2
)

// lanes holds a member's queued messages.
type lanes [laneCount]queue

// take moves the frames of the next write to the end of batch: results first, then rain. It takes as many as make a
// frame of at most joinMax bytes, and at least one if there is one.
func (l *lanes) take(batch []frame) []frame {
	size := 0
	for lane := range l {
		q := &l[lane]
		for q.n > 0 {
			next := len(q.first().message()) + 1 // with the newline
			if size > 0 && size+next > joinMax+1 {
				return batch
			}
			size += next
			batch = append(batch, q.pop())
		}
	}
	return batch
}

// queue is a ring of frames. The zero value is empty and needs no other memory. It must not be copied.
type queue struct {
	one  [1]frame // the first ring of a queue: it needs no allocation
	ring []frame  // its length is a power of two
	head int
	n    int
}

const (
	// secondRing is the size of the first allocated ring.
	secondRing = 4
	// keptRing is the largest ring that an empty queue keeps. It holds the next wave without an allocation, and costs
	// an idle member little.
	keptRing = 8
)

func (q *queue) push(f frame) {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = f
	q.n++
}

func (q *queue) first() *frame { return &q.ring[q.head] }

func (q *queue) pop() frame {
	f := q.ring[q.head]
	q.ring[q.head] = frame{} // keeps no message alive
	q.head = (q.head + 1) & (len(q.ring) - 1)
	if q.n--; q.n == 0 && len(q.ring) > keptRing {
		*q = queue{}
	}
	return f
}

func (q *queue) grow() {
	if q.ring == nil {
		q.ring = q.one[:]
		return
	}
	ring := make([]frame, max(secondRing, 2*len(q.ring)))
	n := copy(ring, q.ring[q.head:])
	copy(ring[n:], q.ring[:q.head])
	q.ring, q.head, q.one = ring, 0, [1]frame{}
}
