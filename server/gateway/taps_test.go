package gateway

import (
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/room"
)

// A tap is answered with its own id and drop, whichever way it was spelt and read, and whatever drop it names.
func TestTapsAreAnsweredHoweverTheyAreSpelt(t *testing.T) {
	s := newStorm(t)
	told := &recorder{}
	session := s.seated(0, &session{g: s.gateway.shared, member: s.lobby.NewMember(room.NewSocket(told), nil)})
	if session.seat.ranks == nil {
		t.Fatal("nobody knows how large a win is among all")
	}
	want := map[string]string{ // id and drop of the result → outcome
		`1 0.0`: "won", `"a b" 0.1`: "won", ` 0.2`: "won", `"é" 0.3`: "won", `1.5 0.4`: "won", `"<b>" 0.5`: "won",
		`2 07.3`: "unknown_drop", `4 <1>`: "unknown_drop", `5 9999999.0`: "unknown_drop",
	}
	for _, text := range []string{
		`{"type":"tap","id":1,"drop":"0.0"}`, ` {"drop" : "0.1", "id":"a b","type":"tap"}`,
		`{"type":"tap","drop":"0.2","new":[1]}`,
		`{"type":"tap","id":"é","drop":"0.3"}`, `{"type":"tap","id":1.5,"drop":"0.\u0034"}`,
		`{"type":"tap","id":"<b>","drop":"0.5"}`,
		`{"type":"tap","id":2,"drop":"07.3"}`, `{"type":"tap","id":4,"drop":"<1>"}`,
		`{"type":"tap","id":5,"drop":"9999999.0"}`,
	} {
		session.Text([]byte(text))
	}
	testenv.Eventually(t, 10*time.Second, "not every tap has a result",
		func() bool { return len(told.results(t)) == len(want) })
	for _, r := range told.results(t) {
		key := string(r.ID) + " " + r.Drop
		if r.Outcome != want[key] || (r.Outcome == "won") != (r.Claim != "" && r.Amount > 0) {
			t.Errorf("%s: %+v, want %q", key, r, want[key])
		}
		testenv.Equal(t, r.Luck, session.seat.ranks.Luck(r.Amount), "%s: luck", key)
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("no result for %v", want)
	}
}

// recorder is a connection that keeps what is written to it.
type recorder struct {
	net.Conn

	mu   sync.Mutex
	text strings.Builder
}

// TryWrite takes a frame of at most 64 KiB; its header goes.
func (p *recorder) TryWrite(frame []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	header := 2
	if frame[1] == 126 {
		header = 4
	}
	p.text.Write(frame[header:])
	p.text.WriteByte('\n')
	return len(frame), nil
}

func (p *recorder) Close() error { return nil }

// all returns what was written.
func (p *recorder) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (p *recorder) results(t *testing.T) (results []wire.Result) {
	t.Helper()
	for line := range strings.Lines(p.all()) {
		var r wire.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Type != wire.TypeResult {
			continue // the lobby's goodbye
		}
		results = append(results, r)
	}
	return results
}
