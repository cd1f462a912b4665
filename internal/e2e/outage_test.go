package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"redrain/internal/operator"
	"redrain/internal/testenv"
)

// TestOutages takes each back end away in the middle of a rain and brings it back. Taps are answered all the time,
// nothing that was told is lost, readiness says which one is missing, and everything heals by itself.
func TestOutages(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for _, missing := range []string{"redis", "nats", "mysql"} {
		t.Run(missing, func(t *testing.T) {
			testenv.Parallel(t, testenv.Medium)
			servers := map[string]*testenv.Server{
				"redis": testenv.StartRedis(t), "nats": testenv.StartNATS(t), "mysql": testenv.StartMySQL(t),
			}
			s := setting{redis: servers["redis"].Addr, nats: servers["nats"].URL, mysql: servers["mysql"].DSN,
				namespace: "rr"}
			n := startNode(t, s.config())
			spec := fund(t, n, "outage", 100_000, 2_000)
			spec.WinsPerUser = 2_000
			c, err := n.client.CreateCampaign(within(t, 20*time.Second), spec, "")
			if err != nil {
				t.Fatal(err)
			}
			long := shortRain(100)
			long.DurationMS, long.FallMS, long.DropsPerSecond = 600_000, 20_000, 8
			if _, err := n.client.StartRain(within(t, 10*time.Second), c.ID, long, ""); err != nil {
				t.Fatal(err)
			}
			p := join(t, n, "patient", c.ID)
			if r := p.answered(t, p.tap(p.aDrop(t))); r.Outcome != "won" {
				t.Fatalf("before the outage: %+v", r)
			}

			servers[missing].Kill()
			testenv.Eventually(t, 20*time.Second, missing+" reported as missing", func() bool {
				return slices.Equal(notReady(t, n), []string{missing})
			})
			r := p.answered(t, p.tap(p.freshDrop(t)))
			if want := map[bool]string{true: "unavailable", false: "won"}[missing == "redis"]; r.Outcome != want {
				t.Errorf("without %s a tap is %s, want %s", missing, r.Outcome, want)
			}

			servers[missing].Start()
			testenv.Eventually(t, 60*time.Second, "ready again", func() bool { return notReady(t, n) == nil })
			testenv.Eventually(t, 30*time.Second, "a win again", func() bool {
				return p.answered(t, p.tap(p.freshDrop(t))).Outcome == "won"
			})
			awaitBooks(t, n.client, c.ID)
			checkLedger(t, n.client, c.ID, []*player{p})
		})
	}
}

// notReady is what /readyz says is missing; nil when it is ready.
func notReady(t *testing.T, n *node) []string {
	t.Helper()
	resp, err := get(t, n.url+"/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Missing []string `json:"missing"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if (resp.StatusCode == http.StatusOK) != (len(answer.Missing) == 0) {
		t.Fatalf("status %d with missing %v", resp.StatusCode, answer.Missing)
	}
	return answer.Missing
}

// freshDrop is a drop in the air that the player has not tapped yet.
func (p *player) freshDrop(t *testing.T) string {
	t.Helper()
	var found string
	testenv.Eventually(t, 30*time.Second, "a fresh drop", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		tapped := map[string]bool{}
		for _, d := range p.tapped {
			tapped[d] = true
		}
		now := time.Now().UnixMilli() + p.offset
		for n, w := range p.waves {
			for _, d := range w.Drops {
				id := fmt.Sprintf("%d.%d", n, d[0])
				if !tapped[id] && d[2] == 0 && now >= w.At+50 && now < w.At+int64(d[3])-1_000 {
					found = id
					return true
				}
			}
		}
		return false
	})
	return found
}

// TestCreationWithoutRedis: a campaign that cannot be stocked is refused, and its money is back at the sponsor.
func TestCreationWithoutRedis(t *testing.T) {
	testenv.Parallel(t, testenv.Light)
	redis := testenv.StartRedis(t)
	s := setting{redis: redis.Addr, nats: testenv.NATS(t), mysql: testenv.MySQL(t), namespace: testenv.Namespace(t)}
	n := startNode(t, s.config())
	spec := fund(t, n, "unstocked", 1_000, 10)
	redis.Kill()
	if _, err := n.client.CreateCampaign(within(t, time.Minute), spec, ""); !operator.HasCode(err, "unavailable") {
		t.Errorf("without Redis: %v", err)
	}
	left, err := n.client.Sponsor(within(t, 10*time.Second), spec.Sponsor)
	if err != nil || left.Balance != spec.Budget {
		t.Errorf("the sponsor has %d of %d (%v)", left.Balance, spec.Budget, err)
	}
	redis.Start()
	testenv.Eventually(t, 30*time.Second, "creation after the outage", func() bool {
		c, err := n.client.CreateCampaign(within(t, time.Minute), spec, "second try")
		return err == nil && c.State == "ready"
	})
}
