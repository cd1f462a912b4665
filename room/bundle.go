package room

// Bundle gathers results for many members, so that all of them are handed to the workers at once: what is done for each
// message then is done once for many. The zero Bundle is empty and ready to use. It belongs to one goroutine at a time.
type Bundle struct {
	letters []letter
}

// letter is a message, and whom it is for.
type letter struct {
	to      *Member
	payload []byte
}

// keptLetters is how many letters a delivered bundle keeps room for.
const keptLetters = 4096

// Add puts a message in the bundle. Nobody is told anything before Lobby.Deliver. The payload must not be changed
// afterwards; it may be a part of a larger slice, which is then kept for as long as any part of it waits in a lane.
func (b *Bundle) Add(to *Member, payload []byte) {
	b.letters = append(b.letters, letter{to: to, payload: payload})
}

// Deliver does for each message of a bundle, in the order in which they were added, what Member.Send does; and
// empties the bundle, which may be used again. The members are those of this lobby.
func (l *Lobby) Deliver(b *Bundle) {
	var ready chain
	for i := range b.letters {
		to := b.letters[i].to
		if !to.push(Results, frame{bytes: b.letters[i].payload}) {
			continue
		}
		ready.add(Results, to)
		if ready.n == readyBatch {
			l.flush.ready(Results, ready)
			ready = chain{}
		}
	}
	l.flush.ready(Results, ready)
	clear(b.letters) // keeps no message alive
	b.letters = b.letters[:0]
	if cap(b.letters) > keptLetters {
		b.letters = nil
	}
}
