package e2e

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"redrain/internal/testenv"

	"redrain/internal/cli"
)

// TestBench plays a whole run of `redrain bench` with a campaign of its own on every set of back ends: each win
// that was told is in the ledger, and each wave has come.
func TestBench(t *testing.T) {
	t.Parallel()
	for _, b := range backendsUnderTest {
		t.Run(b.name, func(t *testing.T) {
			b.parallel(t, testenv.Medium)
			nodes := startNodes(t, b.make(t).config(), b.nodes)
			args := []string{"bench", "--token", operatorToken, "--players", "50", "--duration", "1s",
				"--taps-per-second", "300", "--json"}
			for _, n := range nodes {
				args = append(args, "--url", n.url)
			}
			if b.nodes > 1 {
				args = append(args, "--shards", "3", "--jwt-secret", jwtSecret)
			}
			var stdout, stderr bytes.Buffer
			code := cli.Main(args, func(string) (string, bool) { return "", false }, &stdout, &stderr)
			var got struct {
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
			}
			if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
				t.Fatalf("exit %d, %v: %s%s", code, err, stdout.String(), stderr.String())
			}
			won := int(got.Outcomes["won"])
			if code != cli.ExitOK || !got.OK || got.Taps == 0 || got.Answered != got.Taps || won == 0 ||
				got.Ledger.Told != won || got.Ledger.Settled != won || got.Ledger.Untold != 0 {
				t.Errorf("exit %d: %s%s", code, stdout.String(), stderr.String())
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
