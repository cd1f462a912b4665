package room

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
)

// notingConn notes when which frame was written.
type notingConn struct {
	idleConn
	start time.Time

	mu     sync.Mutex
	frames []notedFrame
}

type notedFrame struct {
	at       time.Duration
	messages []string
}

func (c *notingConn) tryWrite(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := string(p[2:]) // the frames of these tests have the shortest header
	c.frames = append(c.frames, notedFrame{at: time.Since(c.start), messages: strings.Split(text, "\n")})
	return len(p), nil
}

func (c *notingConn) noted() []notedFrame {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.frames)
}

// quiet is a lobby that sends no pings during a test.
func quiet(t *testing.T) *Lobby {
	t.Helper()
	return runningWith(t, Options{PingEvery: time.Hour, PongWait: 2 * time.Hour})
}

// seatNoting seats a user whose frames are noted.
func seatNoting(l *Lobby, user string) (*Member, *notingConn) {
	c := &notingConn{start: time.Now()}
	m := l.newMember(c, nil)
	l.Join("c", user, m)
	return m, c
}

func (l *Lobby) tellText(user, text string) {
	l.ToUserLater(user, func() []byte { return []byte(text) })
}

func TestNewsWhereNothingElseHappensIsToldSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quiet(t)
		_, c := seatNoting(l, "u")
		for range 3 { // also after the list was empty
			before := len(c.noted())
			from := time.Since(c.start)
			l.tellText("u", "a")
			l.tellText("u", "b")
			pass(time.Second)
			got := c.noted()[before:]
			if len(got) != 1 || !slices.Equal(got[0].messages, []string{"a", "b"}) {
				t.Fatalf("got %v", got)
			}
			if late := got[0].at - from; late < newsQuiet || late > newsQuiet+newsStep {
				t.Errorf("it came after %v", late)
			}
		}
	})
}

func TestNewsGoesWithTheNextFrame(t *testing.T) {
	for name, send := range map[string]func(*Lobby, *Member){
		"a result":            func(_ *Lobby, m *Member) { m.Send([]byte("x")) },
		"a wave":              func(l *Lobby, _ *Member) { l.Room("c").Broadcast(Rain, []byte("x")) },
		"a message to a user": func(l *Lobby, _ *Member) { l.ToUser("u", func() []byte { return []byte("x") }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := quiet(t)
				m, c := seatNoting(l, "u")
				l.tellText("u", "news")
				testenv.Equal(t, c.noted(), nil, "at once")
				send(l, m)
				if got := c.noted(); len(got) != 1 || !slices.Equal(got[0].messages, []string{"news", "x"}) {
					t.Errorf("got %v", got)
				}
				pass(time.Second)
				testenv.Equal(t, len(c.noted()), 1, "then")
			})
		})
	}
}

// While other users get news without end, no user waits for longer than the limit. A user who got a frame meanwhile
// waits anew.
func TestNewsInAStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quiet(t)
		seatNoting(l, "storm")
		early, first := seatNoting(l, "early")
		_, second := seatNoting(l, "late")
		const step = 50 * time.Millisecond
		for now := time.Duration(0); now < 5*time.Second; now += step {
			l.tellText("storm", "s")
			switch now {
			case 0:
				l.tellText("early", "0")
			case time.Second:
				early.Send([]byte("1"))
				synctest.Wait()
				l.tellText("early", "2")
				l.tellText("late", "0")
			}
			pass(step)
		}
		for name, c := range map[string]*notingConn{"early": first, "late": second} {
			got := c.noted()
			last := got[len(got)-1]
			if late := last.at - time.Second; late < newsMax || late > newsMax+2*newsStep {
				t.Errorf("%s: the last frame came %v after its news: %v", name, late, got)
			}
		}
		if got := first.noted(); len(got) != 2 || !slices.Equal(got[0].messages, []string{"0", "1"}) {
			t.Errorf("early got %v", got)
		}
	})
}

// News of many wins of one player does not pile up.
func TestMuchNewsOfOneGoesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quiet(t)
		_, c := seatNoting(l, "u")
		var want []string
		for i := range heldMax {
			want = append(want, fmt.Sprint(i))
			l.tellText("u", want[i])
		}
		if got := c.noted(); len(got) != 1 || !slices.Equal(got[0].messages, want) {
			t.Errorf("got %v", got)
		}
	})
}

// A member who is sent away gets the news before. Members who are cut off or absent cost the others nothing.
func TestNewsOfWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quiet(t)
		sentAway, first := seatNoting(l, "a")
		cutOff, second := seatNoting(l, "b")
		_, third := seatNoting(l, "c")
		for _, user := range []string{"a", "b", "c", "nobody"} {
			l.tellText(user, "news")
		}
		sentAway.CloseAfterFlush(CodeShutdown, "")
		cutOff.Close(CodeShutdown, "")
		pass(5 * time.Second)
		for name, c := range map[string]*notingConn{"sent away": first, "stays": third} {
			if got := c.noted(); len(got) == 0 || !slices.Equal(got[0].messages, []string{"news"}) {
				t.Errorf("%s got %v", name, got)
			}
		}
		if got := second.noted(); len(got) != 1 || slices.Contains(got[0].messages, "news") {
			t.Errorf("who was cut off got %v", got)
		}
		if l.news.waiting != nil {
			t.Errorf("%d wait for ever", len(l.news.waiting))
		}
	})
}
