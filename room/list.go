package room

// node is a member's place in the ready queues.
type node struct {
	owner turner           // whose turn it is when the node comes first
	next  [laneCount]*node // the next in the lane's queue; owned by the owner of the queue
}

// turner is who is served by the workers: a member.
type turner interface {
	// turn does one thing; what it writes goes into the buffers of b. It reports the lane in whose ready queue the
	// worker must put the node for its next turn, if it needs one.
	turn(lane Lane, b *batch) (next Lane, again bool)
	// crashed is called when a turn, or the wait for a peer, has panicked.
	crashed()
}

// list is a queue of nodes, linked by their field next of one lane. The zero list is empty.
type list struct {
	head, tail *node
	n          int
}

func listOf(lane Lane, member *node) (l list) {
	l.add(lane, member)
	return l
}

func (l *list) add(lane Lane, member *node) { l.append(lane, list{head: member, tail: member, n: 1}) }

func (l *list) append(lane Lane, more list) {
	if l.n == 0 {
		*l = more
		return
	}
	l.tail.next[lane] = more.head
	l.tail = more.tail
	l.n += more.n
}

func (l *list) pop(lane Lane) *node {
	first := l.head
	l.head, first.next[lane] = first.next[lane], nil
	if l.n--; l.n == 0 {
		l.tail = nil
	}
	return first
}
