package room

// chain is a list of members, linked by Member.next of a lane.
type chain struct {
	head, tail *Member
	n          int
}

func chainOf(lane Lane, m *Member) (c chain) {
	c.add(lane, m)
	return c
}

func (c *chain) add(lane Lane, m *Member) { c.join(lane, chain{head: m, tail: m, n: 1}) }

func (c *chain) join(lane Lane, more chain) {
	if c.n == 0 {
		*c = more
		return
	}
	c.tail.next[lane] = more.head
	c.tail = more.tail
	c.n += more.n
}

func (c *chain) pop(lane Lane) *Member {
	first := c.head
	c.head, first.next[lane] = first.next[lane], nil
	if c.n--; c.n == 0 {
		c.tail = nil
	}
	return first
}
