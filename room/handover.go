package room

// handoverSize is how many members the workers get at once: enough to make their lock cheap, few enough that the
// writing begins while the rest of a room still gets its frame queued.
const handoverSize = 128

// handover collects members that are ready in a lane, and hands them to the workers.
type handover struct {
	lane  Lane
	to    *workers
	ready list
}

func (h *handover) add(member *node) {
	if h.ready.add(h.lane, member); h.ready.n == handoverSize {
		h.flush()
	}
}

func (h *handover) flush() {
	h.to.ready(h.lane, h.ready)
	h.ready = list{}
}
