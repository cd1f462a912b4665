package room

// Bundle gathers results for many members, so that all of them are handed to the workers at once and their lock is
// taken once for many messages. The zero Bundle is empty and ready to use. One goroutine at a time may use it.
type Bundle struct {
	letters []letter
}

// letter is a message and its recipient.
type letter struct {
	to      *Member
	payload []byte
}

// keptLetters is how many letters an empty bundle keeps room for.
const keptLetters = 4096

// Add puts a message in the bundle; Lobby.Deliver sends it. The payload must not be changed afterwards. It may be a
// part of a larger slice, which then stays in memory for as long as any part of it is queued.
func (b *Bundle) Add(to *Member, payload []byte) {
	b.letters = append(b.letters, letter{to: to, payload: payload})
}

// Deliver does what Member.Send does for each message of a bundle, in the order of the calls of Add. It empties the
// bundle, which may be used again. The members are those of this lobby.
func (l *Lobby) Deliver(b *Bundle) {
	ready := handover{lane: Results, to: l.workers}
	for i := range b.letters {
		if to := b.letters[i].to; to.push(Results, frame{bytes: b.letters[i].payload}) {
			ready.add(&to.node)
		}
	}
	ready.flush()
	clear(b.letters) // keeps no message alive
	b.letters = b.letters[:0]
	if cap(b.letters) > keptLetters {
		b.letters = nil
	}
}
