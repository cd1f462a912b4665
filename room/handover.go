package room

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
