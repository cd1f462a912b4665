package room

// Bundle gathers results for many members. All of them are handed to the workers at once, and their lock is taken
// once for many messages. The zero Bundle is empty and ready to use. It is not safe for concurrent use.
type Bundle struct {
	parcels []parcel
}

// parcel is a message and its recipient.
type parcel struct {
	to      *Member
	payload []byte
}

// keptParcels is the number of parcels for which an empty bundle keeps memory.
const keptParcels = 4096

// Add puts a message in the bundle; Lobby.Deliver sends it. The payload must not be changed afterwards. It may be a
// part of a larger slice, which stays in memory while any part of it is queued.
func (b *Bundle) Add(to *Member, payload []byte) {
	b.parcels = append(b.parcels, parcel{to: to, payload: payload})
}

// Deliver calls Member.Send for each message of a bundle, in the order of the calls of Add. It empties the bundle,
// which may be used again. The members must be this lobby's.
func (l *Lobby) Deliver(b *Bundle) {
	ready := handover{lane: Results, to: l.workers}
	for i := range b.parcels {
		if to := b.parcels[i].to; to.push(Results, frame{bytes: b.parcels[i].payload}) {
			ready.add(to)
		}
	}
	ready.flush()
	clear(b.parcels) // keeps no message alive
	b.parcels = b.parcels[:0]
	if cap(b.parcels) > keptParcels {
		b.parcels = nil
	}
}
