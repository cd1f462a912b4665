package room

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallelFrom is the number of members from which fan-out pays for more than one processor.
const parallelFrom = 1024

// Room holds the members of one campaign on this node. An emptied room stays usable and empty; the next member of the
// campaign opens another.
type Room struct {
	workers  *workers
	campaign string
	members  atomic.Int64
	online   atomic.Int64 // members that play
	guests   atomic.Int64 // guests among them
	segments []segment
	next     int // the segment of the next member; guarded by Lobby.mu
}

func newRoom(to *workers, campaign string) *Room {
	return &Room{workers: to, campaign: campaign, segments: make([]segment, runtime.GOMAXPROCS(0))}
}

// Campaign returns the id of the room's campaign.
func (r *Room) Campaign() string { return r.campaign }

// Members returns the number of connections in the room, including those that only watch.
func (r *Room) Members() int { return int(r.members.Load()) }

// Online returns the number of connections that play.
func (r *Room) Online() int { return int(r.online.Load()) }

// Guests returns the number of guests' connections that play.
func (r *Room) Guests() int { return int(r.guests.Load()) }

// Broadcast sends a message to all members of the room. It returns when each member has it queued, without waiting
// for any write. So messages of one goroutine in one lane arrive in order. The payload must not be changed
// afterwards.
func (r *Room) Broadcast(lane Lane, payload []byte) {
	f := sharedFrame(payload)
	if r.Members() < parallelFrom {
		for i := range r.segments {
			r.segments[i].broadcast(lane, f, r.workers)
		}
		return
	}
	var wg sync.WaitGroup
	for i := range r.segments[1:] {
		wg.Go(func() { r.segments[i+1].broadcast(lane, f, r.workers) })
	}
	r.segments[0].broadcast(lane, f, r.workers)
	wg.Wait()
}
