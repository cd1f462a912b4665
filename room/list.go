package room

// list is a queue of members that are ready, linked by their field next of one lane. The zero list is empty.
type list struct {
	head, tail *Member
	n          int
}

func listOf(lane Lane, member *Member) (l list) {
	l.add(lane, member)
	return l
}

func (l *list) add(lane Lane, member *Member) { l.append(lane, list{head: member, tail: member, n: 1}) }

func (l *list) append(lane Lane, more list) {
	if l.n == 0 {
		*l = more
		return
	}
	l.tail.next[lane] = more.head
	l.tail = more.tail
	l.n += more.n
}

func (l *list) pop(lane Lane) *Member {
	first := l.head
	l.head, first.next[lane] = first.next[lane], nil
	if l.n--; l.n == 0 {
		l.tail = nil
	}
	return first
}

// handoverSize is the number of members that the workers get at once. It is large enough to make their lock cheap.
// It is small enough that writing begins while the rest of a room still gets its frame queued.
const handoverSize = 128

// handover collects members that are ready in a lane, and hands them to the workers.
type handover struct {
	lane  Lane
	to    *workers
	ready list
}

func (h *handover) add(member *Member) {
	if h.ready.add(h.lane, member); h.ready.n == handoverSize {
		h.flush()
	}
}

func (h *handover) flush() {
	h.to.ready(h.lane, h.ready)
	h.ready = list{}
}
