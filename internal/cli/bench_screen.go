package cli

import (
	"fmt"
	"sync"
	"time"

	"redrain/internal/bench"
)

// benchScreen shows the progress of a run on standard error: on a terminal in one line that is redrawn, elsewhere in a
// line each second.
type benchScreen struct {
	app  *App
	live bool

	writing sync.Mutex // of standard error

	mu      sync.Mutex
	joined  int
	told    time.Time // when it was last said how many have joined
	follows bool      // the line is that of the game now
}

func newBenchScreen(app *App) *benchScreen {
	return &benchScreen{app: app, live: app.terminal(app.Stderr)}
}

func (b *benchScreen) say(format string, args ...any) {
	text := printable(fmt.Sprintf(format, args...))
	if b.live {
		text = "\r" + wrapOff + text + clearLine + wrapOn
	} else {
		text += "\n"
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	fmt.Fprint(b.app.Stderr, text) //nolint:errcheck // there is nowhere left to say it
}

// close clears the line for the output that follows.
func (b *benchScreen) close() {
	if b.live {
		b.writing.Lock()
		defer b.writing.Unlock()
		fmt.Fprint(b.app.Stderr, "\r"+clearLine) //nolint:errcheck // as above
	}
}

// arrival returns a function to call when a player has joined. It shows now and then how many have, until the game is
// followed: who comes in later is among its players.
func (b *benchScreen) arrival(players int) func() {
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.joined++
		if b.follows {
			return
		}
		if now := time.Now(); b.joined == players || now.Sub(b.told) >= b.app.WatchEvery {
			b.told = now
			b.say("%d of %d players have joined", b.joined, players)
		}
	}
}

// follow shows the progress until done is called.
func (b *benchScreen) follow(crowd *bench.Crowd, duration time.Duration) (done func()) {
	b.mu.Lock()
	b.follows = true
	b.mu.Unlock()
	stop := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(b.app.WatchEvery)
		defer tick.Stop()
		began, before, last := time.Now(), int64(0), time.Now()
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				g := crowd.Progress()
				rate := float64(g.Answered-before) / now.Sub(last).Seconds()
				before, last = g.Answered, now
				b.say("%3.0fs of %s  %d players  %8.0f taps/s  %d won  %d waiting%s",
					now.Sub(began).Seconds(), duration, g.Connected, rate, g.Won, g.Pending, mishaps(g))
			}
		}
	})
	return func() {
		close(stop)
		work.Wait()
	}
}

func mishaps(g bench.Progress) string {
	text := ""
	if g.Reconnects > 0 {
		text += "  " + count(int(g.Reconnects), "reconnect")
	}
	if g.Faults > 0 {
		text += "  " + count(int(g.Faults), "fault") + " of the protocol"
	}
	return text
}
