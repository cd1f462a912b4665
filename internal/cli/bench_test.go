package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/bench/benchtest"
	"redrain/internal/cli"
)

// casino is a server for simulated players, with a ledger that a test can falsify.
type casino struct {
	*httptest.Server
	room   benchtest.Room
	guests bool
	on     string // the campaign that is on

	mu     sync.Mutex
	made   int
	wins   []client.Claim // all that was won
	ledger func(wins []client.Claim) []client.Claim
	outbox int64
	looks  int // the number of reads of the ledger
}

func newCasino(t *testing.T) *casino {
	t.Helper()
	c := &casino{guests: true, on: "c1", ledger: func(wins []client.Claim) []client.Claim { return wins }}
	c.room.Answer = c.answer
	mux := http.NewServeMux()
	mux.Handle("/ws", &c.room)
	mux.HandleFunc("GET /api/v1/lobby", func(w http.ResponseWriter,
		_ *http.Request) {
		answer(w, openapi.Lobby{Campaign: c.on})
	})
	mux.HandleFunc("POST /api/v1/guests", c.guest)
	mux.HandleFunc("GET /api/v1/campaigns/c1/claims", c.claims)
	mux.HandleFunc("GET /api/v1/me/claims", c.myClaims)
	mux.HandleFunc("GET /api/v1/campaigns/c1/stats", func(w http.ResponseWriter,
		_ *http.Request) {
		answer(w, client.Stats{Outbox: c.outbox})
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

func answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// answer lets every third tap win.
func (c *casino) answer(user, drop string) (outcome, claim string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !strings.HasSuffix(drop, "3") {
		return "empty", ""
	}
	claim = fmt.Sprintf("c1-%d", len(c.wins))
	c.wins = append(c.wins, client.Claim{Claim: claim, User: user, Packet: strconv.Itoa(len(c.wins)),
		Amount: benchtest.Amount, State: client.ClaimSettled})
	return "won", claim
}

func (c *casino) guest(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.guests {
		refuse(w, http.StatusForbidden, "guests_off", "guests are off on this server; use a token")
		return
	}
	c.made++
	name := fmt.Sprintf("guest-%d", c.made)
	answer(w, openapi.Guest{User: name, Token: name})
}

func (c *casino) claims(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+operatorToken {
		refuse(w, http.StatusUnauthorized, "unauthorized", "give a valid token: Authorization: Bearer …")
		return
	}
	c.looks++
	answer(w, client.List[client.Claim]{Items: c.ledger(c.wins)})
}

func (c *casino) myClaims(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine := slices.DeleteFunc(slices.Clone(c.ledger(c.wins)), func(one client.Claim) bool {
		return "Bearer "+one.User != r.Header.Get("Authorization")
	})
	answer(w, client.List[client.Claim]{Items: mine})
}

// benched is the output of `redrain bench --json`, as far as the tests read it.
type benched struct {
	OK       bool             `json:"ok"`
	Problems []string         `json:"problems"`
	Joined   int              `json:"joined"`
	Taps     int64            `json:"taps"`
	Answered int64            `json:"answered"`
	Outcomes map[string]int64 `json:"outcomes"`
	Ledger   struct {
		Checked bool `json:"checked"`
		Told    int  `json:"told"`
		Settled int  `json:"settled"`
		Missing int  `json:"missing"`
	} `json:"ledger"`
}

func (c *casino) bench(t *testing.T, env map[string]string, args ...string) (outcome, benched) {
	t.Helper()
	got := run(t, env, append([]string{"bench", "--url", c.URL, "--players", "5", "--closed-loop", "--duration", "50ms",
		"--settle-within", "0s", "--json"}, args...)...)
	var b benched
	if err := json.Unmarshal([]byte(got.stdout), &b); err != nil && got.stdout != "" {
		t.Fatalf("standard output is not one JSON object: %v: %s", err, got.stdout)
	}
	return got, b
}

// TestBenchReadsTheLedger finds every win in it, and fails if one is missing.
func TestBenchReadsTheLedger(t *testing.T) {
	const says = "1 win was told and is not in the ledger"
	for who, env := range map[string]map[string]string{"a viewer": {"REDRAIN_TOKEN": operatorToken,
		"REDRAIN_CAMPAIGN": "c1"}, "the players": {}} {
		t.Run("of "+who, func(t *testing.T) {
			c := newCasino(t)
			got, b := c.bench(t, env)
			if got.code != cli.ExitOK || !b.OK || b.Joined != 5 || b.Answered != b.Taps ||
				b.Outcomes["won"]+b.Outcomes["empty"] != b.Taps {
				t.Fatalf("exit %d: %s %s", got.code, got.stdout, got.stderr)
			}
			if n := len(c.wins); !b.Ledger.Checked || n == 0 || b.Ledger.Told != n || b.Ledger.Settled != n ||
				int(b.Outcomes["won"]) != n {
				t.Errorf("%d wins; %s", n, got.stdout)
			}
			c = newCasino(t)
			c.ledger = func(wins []client.Claim) []client.Claim { return wins[1:] }
			got, b = c.bench(t, env)
			if got.code != cli.ExitFailure || b.OK || len(b.Problems) != 1 || !strings.Contains(b.Problems[0], says) ||
				!strings.Contains(got.stderr, `{"code":"failed","detail":"`+says) {
				t.Errorf("exit %d: %s %s", got.code, got.stdout, got.stderr)
			}
		})
	}
}

// Bench waits for wins that are not settled yet.
func TestBenchWaitsForSettlement(t *testing.T) {
	c := newCasino(t)
	c.ledger = func(wins []client.Claim) []client.Claim {
		if c.looks < 2 {
			return nil
		}
		return wins
	}
	env := map[string]string{"REDRAIN_TOKEN": operatorToken, "REDRAIN_CAMPAIGN": "c1"}
	if got, b := c.bench(t, env, "--settle-within", "1m"); got.code != cli.ExitOK || b.Ledger.Missing != 0 ||
		c.looks != 2 {
		t.Errorf("exit %d after %d looks: %s %s", got.code, c.looks, got.stdout, got.stderr)
	}
}

// If settlement is far behind, the server lists only a part of the wins in flight. The bench then reports neither a
// loss nor a success.
func TestBenchTellsLateFromLost(t *testing.T) {
	c := newCasino(t)
	c.ledger = func(wins []client.Claim) []client.Claim { return wins[3:] }
	c.outbox = 2
	got, b := c.bench(t, map[string]string{"REDRAIN_TOKEN": operatorToken, "REDRAIN_CAMPAIGN": "c1"})
	if got.code != cli.ExitFailure || b.Ledger.Missing != 1 || len(b.Problems) != 2 ||
		!strings.Contains(b.Problems[1], "2 wins were told and still on the way") {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
}

func TestBenchFailsWithItsPlayers(t *testing.T) {
	t.Run("one is refused", func(t *testing.T) {
		c := newCasino(t)
		c.room.Welcome = func(user string) int {
			if user == "guest-2" {
				return 4500
			}
			return 0
		}
		got, b := c.bench(t, nil)
		want := []string{"1 of 5 players could not join", "the server closed 1 connection for good, with code 4500"}
		if diff := cmp.Diff(want, b.Problems); got.code != cli.ExitFailure || diff != "" {
			t.Errorf("exit %d: %s", got.code, diff)
		}
	})
	t.Run("no guests", func(t *testing.T) {
		c := newCasino(t)
		c.guests = false
		got, _ := c.bench(t, nil)
		if want := `{"code":"guests_off","status":403,"detail":"guests are off on this server; use a token; give ` +
			"--jwt-secret, the server's, to mint tokens\"}\n"; got.code != cli.ExitFailure || got.stderr != want ||
			got.stdout != "" {
			t.Errorf("exit %d: %s%s", got.code, got.stdout, got.stderr)
		}
		// A minted name is of this run alone. The fake takes the token for the name, so the name cannot be looked up.
		got, b := c.bench(t, map[string]string{"REDRAIN_JWT_SECRET": jwtSecret})
		if b.Joined != 5 || got.stdout == "" {
			t.Errorf("with a secret: %s", got.stderr)
		}
	})
	t.Run("nothing is on", func(t *testing.T) {
		c := newCasino(t)
		c.on = ""
		if got, _ := c.bench(t, nil); got.code != cli.ExitFailure ||
			!strings.Contains(got.stderr, "there is no campaign to play now; name one with --campaign") {
			t.Errorf("exit %d: %s", got.code, got.stderr)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		c := newCasino(t)
		c.Close()
		if got, _ := c.bench(t, nil); got.code != cli.ExitFailure ||
			!strings.Contains(got.stderr, "no answer from http://127.0.0.1") {
			t.Errorf("exit %d: %s", got.code, got.stderr)
		}
		env := map[string]string{"REDRAIN_SERVER": "http://127.0.0.1:1"} // as for every other command
		run(t, env, "bench", "--players", "1").exitsSaying(t, cli.ExitFailure, "no answer from http://127.0.0.1:1")
	})
}

func TestBenchRefusesNonsense(t *testing.T) {
	for args, want := range map[string]string{
		"--url localhost:8080": "--url: \"localhost:8080\" is not like http://host:port or " +
			"ws://host:port/ws",
		"--url http://h:1 --url ftp://h": "--url: \"ftp://h\" is not like http://host:port or " +
			"ws://host:port/ws",
		"--players 0":                       `--players "0": give 1 or more`,
		"--players 1000000000":              "--players: 1000000000 players need as many open files",
		"--duration 0s":                     `--duration "0s": give 1ms or more`,
		"--closed-loop --taps-per-second 5": "--taps-per-second and --closed-loop: give one of them",
		"--think 1s":                        "--think: belongs to --closed-loop",
		"--packets 5": "--packets, --budget, --wins-per-user, --drops-per-second, --fall, --pacing, --odds, " +
			"--capacity and --admit-per-second are for a rain of bench's own",
		"--token t --campaign c --fall 3s": "--packets, --budget, --wins-per-user, --drops-per-second, --fall, " +
			"--pacing, --odds, --capacity and --admit-per-second are for a rain of bench's own",
		"--farm 5": "--farm and --bot make campaigns of their own: they take --token, and no --campaign",
		"--bot --token t --campaign c": "--farm and --bot make campaigns of their own: they take --token, and no " +
			"--campaign",
		"--farm 5 --bot --token t":         "--farm and --bot: give one of them",
		"--bot --token t --jwt-secret s":   "--farm and --bot: their players are guests who tap as people",
		"--bot --token t --bot-tap-rate 0": `--bot-tap-rate "0": give 0.01 or more`,
		"--rains 3":                        "--rains and --least-held: belong to --farm and --bot",
		"--token t --capacity=-1":          `--capacity "-1": give 0 or more`,
		"--token t --duration 11m":         "--duration: a rain lasts 10m0s at most",
		"--ramp=-1s --wait=-1s":            "--ramp \"-1s\": give 0s or more\nredrain: --wait \"-1s\": give 0s or more",
	} {
		got := run(t, nil, append([]string{"bench"}, strings.Fields(args)...)...)
		if got.code != cli.ExitUsage || !strings.HasPrefix(got.stderr, "redrain: "+want) || got.stdout != "" {
			t.Errorf("%s: exit %d: %s%s", args, got.code, got.stdout, got.stderr)
		}
	}
}
