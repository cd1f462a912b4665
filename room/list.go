package room

// node is a member's position in the ready queues.
type node struct {
	owner turner           // served when the node comes first
	next  [laneCount]*node // the next in the lane's queue; owned by the owner of the queue
}

// turner is served by the workers: a member.
type turner interface {
	// turn does one thing; its output goes into the buffers of b. If the node needs another time slice, turn reports
	// the lane in whose ready queue the worker must put it.
	turn(lane Lane, b *batch) (next Lane, again bool)
	// crashed is called after a panic in a turn or in the wait for a peer.
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
