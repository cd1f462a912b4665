package grab

import (
	"cmp"
	"slices"

	"redrain/rain"
)

// draws holds the lucky draws of a player in a rain, in order: the beat, and the drop that took the draw. An unlucky
// draw is not stored, because it can be computed again.
type draws []drawn

type drawn struct {
	beat dropKey
	with dropKey
}

// take records that a drop takes a draw. Any other ticket changes nothing.
func (d *draws) take(ticket rain.Ticket, with rain.DropID) {
	beat, ok1 := keyOf(ticket)
	drop, ok2 := keyOf(with.Ticket())
	if !ticket.IsBeat() || !ok1 || !ok2 {
		return
	}
	i, taken := d.find(beat)
	if taken {
		return
	}
	*d = slices.Insert(*d, i, drawn{beat, drop})
	if len(*d) > keptResults {
		*d = slices.Delete(*d, 0, keptSlack) // of drops that have landed long ago
	}
}

// release lets a draw be taken again, because it had no result.
func (d *draws) release(ticket rain.Ticket) {
	if !ticket.IsBeat() {
		return
	}
	if beat, ok := keyOf(ticket); ok {
		if i, taken := d.find(beat); taken {
			*d = slices.Delete(*d, i, i+1)
		}
	}
}

// tookWith reports whether a draw was taken with a drop.
func (d draws) tookWith(ticket rain.Ticket, with rain.DropID) bool {
	drop, is := d.of(ticket)
	want, ok := keyOf(with.Ticket())
	return is && ok && drop == want
}

// tookAnother reports whether a draw was taken with a drop, and not with this one.
func (d draws) tookAnother(ticket rain.Ticket, with rain.DropID) bool {
	_, is := d.of(ticket)
	return is && !d.tookWith(ticket, with)
}

func (d draws) of(ticket rain.Ticket) (with dropKey, taken bool) {
	beat, ok := keyOf(ticket)
	if i, taken := d.find(beat); ok && taken {
		return d[i].with, true
	}
	return 0, false
}

func (d draws) find(beat dropKey) (int, bool) {
	return slices.BinarySearchFunc(d, beat, func(one drawn, beat dropKey) int { return cmp.Compare(one.beat, beat) })
}
