package e2e

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/server/config"
)

// rivals are a side in the answer of `redrain bench --farm` and `--bot`.
type rivals struct {
	Joined int `json:"joined"`
	Taps   int `json:"taps"`
	Won    int `json:"won"`
	Held   int `json:"held"`
}

// playRivals runs `redrain bench` on nodes that take its word for who calls, and returns its only rain.
func playRivals(t *testing.T, nodes []*node, args ...string) (people, others rivals, code int) {
	t.Helper()
	args = append([]string{"bench", "--token", operatorToken, "--json"}, args...)
	for _, n := range nodes {
		args = append(args, "--url", n.url)
	}
	var stdout, stderr bytes.Buffer
	code = cli.Main(args, func(string) (string, bool) { return "", false }, &stdout, &stderr)
	var got struct {
		Rains []struct {
			People rivals `json:"people"`
			Rivals rivals `json:"rivals"`
		} `json:"rains"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || len(got.Rains) != 1 {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout.String(), stderr.String())
	}
	t.Log(stdout.String())
	return got.Rains[0].People, got.Rains[0].Rivals, code
}

// proxied is a setting of nodes behind a proxy, which bench is here, with the defaults for guests.
func proxied(s setting) config.Config {
	cfg := s.config()
	cfg.Proxies, cfg.AddressExempt = []string{"127.0.0.0/8"}, []string{"192.0.2.1"}
	cfg.GuestChallenge, cfg.ChallengeWork = "work", 100
	return cfg
}

// TestFarm: the guests of one address win no more than their part of a campaign, here 16 packets of 160, however many
// they are, however fast, and over two nodes. Each has done the work for its name.
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
			people, farm, code := playRivals(t, nodes, "--farm", "60", "--players", "20", "--packets", "160",
				"--duration", "4s", "--most-farm-share", "1")
			if code != cli.ExitOK || farm.Joined != 60 || people.Joined != 20 || farm.Taps == 0 || people.Won == 0 ||
				farm.Won > 16 {
				t.Errorf("exit %d, farm %+v, people %+v", code, farm, people)
			}
		})
	}
}

// TestBot: where luck decides, the fastest program has one draw in each beat, as everybody has, its first win is held
// as the others are, and no person is taken for one. A win waits for longer than the rain lasts. Whoever taps six drops
// is quick here, however late a busy machine makes a tap: the program taps all 32, and people, who rest for 3 s while
// drops fall for 8, no more than three.
func TestBot(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	testenv.Parallel(t, testenv.Medium)
	cfg := proxied(setting{})
	cfg.Risk, cfg.RiskWait, cfg.TapRate = config.RiskHold, 5*time.Second, 20
	cfg.RiskLimits.FastMS, cfg.RiskLimits.Taps = 60_000, 6
	people, bot, _ := playRivals(t, startNodes(t, cfg, 1), "--bot", "--rains", "1", "--players", "10",
		"--packets", "60", "--duration", "4s", "--pause", "3s-3s")
	if bot.Joined != 1 || bot.Taps < 6 || bot.Won > 4 || bot.Held != min(bot.Won, 1) || people.Joined != 10 ||
		people.Taps > 30 || people.Won == 0 || people.Held != 0 {
		t.Errorf("bot %+v, people %+v", bot, people)
	}
}

// TestBenchOfAFullHouse: players who wait for a seat are no fault, and are counted.
func TestBenchOfAFullHouse(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	n := startNode(t, setting{}.config())
	var stdout, stderr bytes.Buffer
	code := cli.Main([]string{"bench", "--token", operatorToken, "--url", n.url, "--players", "12", "--capacity", "5",
		"--duration", "1s", "--json"}, func(string) (string, bool) { return "", false }, &stdout, &stderr)
	var got struct {
		Joined  int `json:"joined"`
		Waiting struct {
			Waited int `json:"waited"`
		} `json:"waiting_room"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || code != cli.ExitOK || got.Joined != 5 ||
		got.Waiting.Waited != 7 {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout.String(), stderr.String())
	}
}
