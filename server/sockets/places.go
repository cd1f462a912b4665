package sockets

// take takes a place of an address, if there is one. It needs t.mu.
func (t *Table) take(place string) bool {
	if t.o.PerAddress > 0 && t.places[place] >= t.o.PerAddress {
		t.metrics.refused[refusedAddress].Inc()
		return false
	}
	t.places[place]++
	return true
}

// give gives a place back; "": none. It needs t.mu.
func (t *Table) give(place string) {
	if place == "" {
		return
	}
	if t.places[place]--; t.places[place] <= 0 {
		delete(t.places, place)
	}
}

// takeFor takes a place for a connection, which gives it back when it is closed.
func (t *Table) takeFor(c *conn, place string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.closed || !t.take(place) {
		return false
	}
	c.place = place
	return true
}

// takeRequest takes a place for one request.
func (t *Table) takeRequest(place string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.take(place)
}

// endRequest gives the place of a request back. Where the request has become a WebSocket its connection keeps it.
func (t *Table) endRequest(c *conn, place string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.hijacked.Load() && !c.closed {
		c.place = place
		return
	}
	t.give(place)
}
