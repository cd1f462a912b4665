package gateway

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"redrain/internal/testenv"
)

// After a node's death its players come at once. The node accepts no more than its limit in any second. No player is
// sent away twice if they come back at the requested time.
func TestAStormComesAsFastAsItIsTaken(t *testing.T) {
	const perSecond, storm = 100, 2000
	p := newPace(perSecond)
	now := time.Unix(1, 0)
	back := map[int64]int{} // second → number of players who come back then
	taken := map[int64]int{}
	for range storm {
		after, ok := p.take(now)
		switch {
		case ok:
			taken[now.Unix()]++
		case after < time.Second || after > comeBackWithin:
			t.Fatalf("come back after %v", after)
		default:
			back[now.Add(after).Unix()]++
		}
	}
	testenv.Equal(t, taken[1], perSecond*arrivalsBurst, "taken at once")
	for second, n := range back {
		if n > perSecond+1 {
			t.Errorf("%d come back in second %d", n, second)
		}
	}
	for at := time.Unix(2, 0); at.Before(time.Unix(40, 0)); at = at.Add(time.Second) {
		for range back[at.Unix()] {
			if _, ok := p.take(at); !ok {
				t.Errorf("who comes back in second %d is sent away again", at.Unix())
			}
		}
	}
}

// A storm that would take longer than half a minute is spread over the second half of that.
func TestAHugeStormIsSpread(t *testing.T) {
	p := newPace(10)
	var early, late int
	for range 10_000 {
		switch after, ok := p.take(time.Unix(1, 0)); {
		case ok:
		case after < comeBackWithin/2:
			early++
		case after > comeBackWithin:
			t.Fatalf("come back after %v", after)
		default:
			late++
		}
	}
	if early > 150 || late < 9_000 {
		t.Errorf("%d before the half and %d after it", early, late)
	}
}

func TestPaceWithoutALimit(t *testing.T) {
	for range 3 {
		p := newPace(-1)
		for range 100_000 {
			if _, ok := p.take(time.Unix(1, 0)); !ok {
				t.Fatal("there is no limit")
			}
		}
	}
	if newPace(0).arrivals.Limit() == rate.Inf {
		t.Error("0 is a limit by the processors")
	}
}

// Too many at once are refused before the upgrade, with a time.
func TestTooManyArrivalsAreRefused(t *testing.T) {
	d := openDoor(t, &neighbours{}, nil)
	d.gateway.pace.arrivals.SetBurst(0)
	response, err := (&http.Client{Timeout: time.Minute}).Get("http" + strings.TrimPrefix(d.url, "ws"))
	testenv.Must(t, err)
	_ = response.Body.Close()
	after, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if response.StatusCode != http.StatusServiceUnavailable || err != nil || after < 1 || after > 30 {
		t.Errorf("%d, Retry-After %q", response.StatusCode, response.Header.Get("Retry-After"))
	}
}

func TestMain(m *testing.M) { testenv.Main(m) }
