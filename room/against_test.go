package room

import (
	"bufio"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
)

// BenchmarkAgainstBare sends to 1,000 members what a bare loop of gorilla's WriteMessage sends to the same
// connections, one after the other, and tells what each costs in processor time of this process (the players are
// another one). ratio is the median of the room's over the loop's, each pair having been measured within the same
// tenths of a second.
func BenchmarkAgainstBare(b *testing.B) {
	const n = 1_000
	l := running(b)
	loopback(b, l, "c", n)
	var members []*Member
	var bare []*websocket.Conn
	for m := range everybody(l.Room("c")) {
		members = append(members, m)
		bare = append(bare, gorillaOn(b, socketOfMember(b, m).Conn))
	}
	var results Bundle
	slab := make([]byte, n*len(result))
	for _, test := range []struct {
		name    string
		message []byte
		room    func()
	}{
		{"wave", wave, func() { l.Room("c").Broadcast(Rain, wave) }},
		{"results", result, func() {
			for i, m := range members {
				payload := slab[i*len(result) : (i+1)*len(result)]
				copy(payload, result)
				if results.Add(m, payload); i%500 == 499 {
					l.Deliver(&results)
				}
			}
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			ways := []func(){
				func() {
					for _, conn := range bare {
						testenv.Must(b, conn.WriteMessage(websocket.TextMessage, test.message))
					}
				},
				func() { test.room(); l.workers.wait() },
			}
			took := [2][]float64{}
			for b.Loop() {
				first := rand.N(2)
				for _, way := range []int{first, 1 - first} {
					before := processorTime(b)
					ways[way]()
					took[way] = append(took[way], float64(processorTime(b)-before)/n)
				}
			}
			ratios := make([]float64, len(took[0]))
			for i := range ratios {
				ratios[i] = took[1][i] / took[0][i]
			}
			b.ReportMetric(median(took[0]), "bare-ns/frame")
			b.ReportMetric(median(took[1]), "room-ns/frame")
			b.ReportMetric(median(ratios), "ratio")
		})
	}
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// processorTime is what this process has used, in user and system mode.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	testenv.Must(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// gorillaOn is a WebSocket connection of gorilla's on a connection that has been upgraded before.
func gorillaOn(tb testing.TB, conn net.Conn) *websocket.Conn {
	tb.Helper()
	again := &http.Request{Method: http.MethodGet, Header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {"MDEyMzQ1Njc4OWFiY2RlZg=="},
	}}
	upgrader := &websocket.Upgrader{ReadBufferSize: 1024, WriteBufferSize: 4096, WriteBufferPool: gorillaBuffers}
	muted := &mute{Conn: conn, muted: true}
	ws, err := upgrader.Upgrade(hijack{conn: muted, buffered: bufio.NewReadWriter(bufio.NewReader(conn),
		bufio.NewWriter(conn))}, again, nil)
	testenv.Must(tb, err)
	muted.muted = false
	return ws
}

var gorillaBuffers = &sync.Pool{}

// mute is a connection that says nothing while it is muted.
type mute struct {
	net.Conn

	muted bool
}

func (m *mute) Write(p []byte) (int, error) {
	if m.muted {
		return len(p), nil
	}
	return m.Conn.Write(p)
}
