package room

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallelFrom is the number of members from which handing a frame out is worth more than one processor.
const parallelFrom = 1024

// Room is everybody on this node who watches one campaign. A room that has emptied stays usable and empty; the next who
// joins the campaign opens another.
type Room struct {
	workers  *workers
	campaign string
	members  atomic.Int64
	online   atomic.Int64 // of them: those that play
	guests   atomic.Int64 // of those
	segments []segment
	next     int // the segment of the next member; guarded by Lobby.mu
}

func newRoom(to *workers, campaign string) *Room {
	return &Room{workers: to, campaign: campaign, segments: make([]segment, runtime.GOMAXPROCS(0))}
}

// Campaign is the id of the room's campaign.
func (r *Room) Campaign() string { return r.campaign }

// Members is the number of connections in the room, with those that only look on.
func (r *Room) Members() int { return int(r.members.Load()) }

// Online is the number of those that play.
func (r *Room) Online() int { return int(r.online.Load()) }

// Guests is the number of those that play and are guests'.
func (r *Room) Guests() int { return int(r.guests.Load()) }

// Broadcast sends a message to everybody in the room. It returns when each member has it queued, without waiting
// for any write; so what one goroutine broadcasts in a lane arrives in that order. The payload must not be changed
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
