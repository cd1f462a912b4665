package gateway

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/room"
)

// A hello costs its address only when it is refused; where an address has had too many of those, good ones still come
// in, and bad ones ask nobody.
func TestOnlyRefusedHellosCount(t *testing.T) {
	var asked, left atomic.Int64
	left.Store(3)
	n := &neighbours{allow: func(string) (bool, error) {
		asked.Add(1)
		return left.Add(-1) >= 0, nil
	}}
	var now atomic.Int64
	now.Store(time.Now().UnixMilli())
	d := openDoor(t, n, func(o *Options) { o.HelloRate, o.Clock = 1, now.Load })
	for i := range 20 {
		d.play(fmt.Sprint("u", i))
	}
	testenv.Equal(t, asked.Load(), 0, "counted good hellos")
	refused := func(hello string) int {
		t.Helper()
		c := d.connect()
		c.say(hello)
		return c.closed()
	}
	const bad, lost = `{"type":"hello","campaign":"c"}`, `{"type":"hello","token":"u","campaign":"x"}`
	for range 2 {
		testenv.Equal(t, refused(bad), room.CodeBadToken, "a bad token")
	}
	for range 2 {
		testenv.Equal(t, refused(lost), room.CodeUnknownCampaign, "an unknown campaign")
	}
	testenv.Equal(t, asked.Load(), 4, "counted refused hellos")
	// The fourth was one too many.
	testenv.Equal(t, refused(bad), room.CodeBadToken, "a bad token of an address that is over its limit")
	testenv.Equal(t, refused(lost), room.CodeUnavailable, "an unknown campaign, from an address that is over its limit")
	testenv.Equal(t, asked.Load(), 4, "questions to Redis")
	if code := refused(`{"type":"tap","id":1,"drop":"0.0"}`); code != room.CodeProtocol || asked.Load() != 4 {
		t.Errorf("a tap before hello: %d, asked %d times", code, asked.Load())
	}
	d.play("honest")
	testenv.Equal(t, testutil.ToFloat64(d.gateway.metrics.refused), 5, "hellos counted as refused")
	now.Add(2_000)
	left.Store(1)
	if code := refused(lost); code != room.CodeUnknownCampaign || asked.Load() != 5 {
		t.Errorf("later: %d, asked %d times", code, asked.Load())
	}
}
