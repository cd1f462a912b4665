package e2e

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/server/config"
)

// runBench runs `redrain bench` on nodes, and returns its report.
func runBench[T any](t *testing.T, nodes []*node, args ...string) (report T, code int) {
	t.Helper()
	args = append([]string{"bench", "--token", operatorToken, "--json"}, args...)
	for _, n := range nodes {
		args = append(args, "--url", n.url)
	}
	var stdout, stderr bytes.Buffer
	code = cli.Main(args, func(string) (string, bool) { return "", false }, &stdout, &stderr)
	t.Logf("exit %d: %s%s", code, stdout.String(), stderr.String())
	testenv.Must(t, json.Unmarshal(stdout.Bytes(), &report))
	return report, code
}

// TestBench plays a whole run of `redrain bench` with a campaign of its own on every set of back ends. Each reported
// win is in the ledger, and each wave has come.
func TestBench(t *testing.T) {
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			b.parallel(t, testenv.Medium)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			args := []string{"--players", "50", "--duration", "1s", "--taps-per-second", "300"}
			if b.nodes > 1 {
				args = append(args, "--shards", "3", "--jwt-secret", jwtSecret)
			}
			got, code := runBench[struct {
				OK       bool             `json:"ok"`
				Campaign []string         `json:"campaigns"`
				Taps     int64            `json:"taps"`
				Answered int64            `json:"answered"`
				Outcomes map[string]int64 `json:"outcomes"`
				Waves    struct {
					Expected int64 `json:"expected"`
					Received int64 `json:"received"`
				} `json:"waves"`
				Ledger struct {
					Told    int `json:"told"`
					Settled int `json:"settled"`
					Untold  int `json:"untold"`
				} `json:"ledger"`
			}](t, nodes, args...)
			won := int(got.Outcomes["won"])
			if code != cli.ExitOK || !got.OK || got.Taps == 0 || got.Answered != got.Taps || won == 0 ||
				got.Ledger.Told != won || got.Ledger.Settled != won || got.Ledger.Untold != 0 {
				t.Errorf("exit %d: %+v", code, got)
			}
			// Waves may be dropped for who reads slowly, which on a busy machine is anybody.
			if w := got.Waves; w.Expected == 0 || w.Received > w.Expected || w.Received == 0 {
				t.Errorf("%d of %d waves", w.Received, w.Expected)
			}
			if len(got.Campaign) != 1 {
				t.Fatalf("campaigns %v", got.Campaign)
			}
			c, err := nodes[0].client.Campaign(t.Context(), got.Campaign[0])
			if err != nil || c.State != "closed" || !slices.Contains([]int{1, 3}, c.Shards) {
				t.Errorf("the campaign afterwards: %+v, %v", c, err)
			}
		})
	}
}

// TestFarm: the guests of one address win no more than their part of a campaign, here 16 packets of 160. Neither their
// number nor their speed nor a second node changes that. Each has done the work for its name.
func TestFarm(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for _, b := range pagesUnderTest {
		t.Run(b.name, func(t *testing.T) {
			if b.nodes > 1 {
				testenv.RunsFrom(t, testenv.Nightly)
			}
			b.parallel(t, testenv.Medium)
			nodes := startNodes(t, proxied(b.make(t)), b.nodes)
			type side struct {
				Joined int `json:"joined"`
				Taps   int `json:"taps"`
				Won    int `json:"won"`
			}
			got, code := runBench[struct {
				Rains []struct {
					People side `json:"people"`
					Rivals side `json:"rivals"`
				} `json:"rains"`
			}](t, nodes, "--farm", "60", "--players", "20", "--packets", "160", "--duration", "4s",
				"--most-farm-share", "1")
			if len(got.Rains) != 1 {
				t.Fatalf("exit %d: %+v", code, got)
			}
			people, farm := got.Rains[0].People, got.Rains[0].Rivals
			if code != cli.ExitOK || farm.Joined != 60 || people.Joined != 20 || farm.Taps == 0 || people.Won == 0 ||
				farm.Won > 16 {
				t.Errorf("exit %d, farm %+v, people %+v", code, farm, people)
			}
		})
	}
}

// proxied is a setting of nodes behind a proxy, which bench is here, with the defaults for guests.
func proxied(s setting) config.Config {
	cfg := s.config()
	cfg.Proxies, cfg.AddressExempt = []string{"127.0.0.0/8"}, []string{"192.0.2.1"}
	cfg.GuestChallenge, cfg.ChallengeWork = "work", 100
	return cfg
}
