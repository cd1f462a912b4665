package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// hallScript lets many players into one page, each with a client of web/sdk. It notes the loss of a line before the
// client notices it and begins to wait. A page on a busy machine may stand still between two lines of a script.
const hallScript = `import("/sdk/redrain.js").then(({ RainClient }) => {
	let closed = null;
	globalThis.WebSocket = class extends WebSocket {
		constructor(...args) {
			super(...args);
			this.addEventListener("close", () => { closed = performance.now(); });
		}
	};
	window.hall = {
		players: [],
		enter(campaign, tokens) {
			for (const token of tokens) {
				const client = new RainClient({ token, campaign });
				const player = { client, tries: [], lostAt: null, wait: null, drop: null, answers: [] };
				client.on("state", ({ state, retryIn }) => {
					if (state === "waiting") {
						player.lostAt ??= closed ?? performance.now();
						player.wait ??= retryIn;
					}
					if (state === "connecting" && player.lostAt !== null) player.tries.push(performance.now());
				});
				client.on("wave", ({ drops }) => {
					player.drop ??= drops.find((d) => d.kind === "packet" && d.fall_ms > 15000) ?? null;
				});
				this.players.push(player);
				client.connect();
			}
		},
		ready() {
			return this.players.every(({ client, drop }) =>
				client.state === "open" && drop !== null && client.serverNow() > drop.at + 100);
		},
		tap() {
			for (const player of this.players) void player.client.tap(player.drop).then((r) => player.answers.push(r));
		},
		report() {
			const first = Math.min(...this.players.map((p) => p.lostAt ?? Infinity));
			return this.players.map((p) => ({
				state: p.client.state, drop: p.drop?.id ?? "", answers: p.answers,
				lost: p.lostAt === null ? -1 : p.lostAt - first, wait: p.wait ?? -1,
				tries: p.tries.map((t) => t - first),
			}));
		},
		leave() {
			for (const { client } of this.players) client.close();
		},
	};
	return true;
})`

// hallPlayer is a report of a player in the hall. Times are ms since the first of them lost the line.
type hallPlayer struct {
	State   string
	Drop    string
	Answers []struct{ Drop, Outcome, Claim string }
	Lost    float64
	Wait    float64 // for the first try
	Tries   []float64
}

// TestAHallComesBackAfterARestart: a node is killed while fifty players' taps travel, and comes back. The players'
// tries are spread over the whole window of the jitter, all of them are back, and each tap is answered once.
func TestAHallComesBackAfterARestart(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Medium)
	const players = 50
	dir, addr := t.TempDir(), testenv.Addr(t)
	start := func() *process {
		return startProcessWith(t, processOptions{flags: []string{"--listen", addr, "--data-dir", dir, "--no-demo"}})
	}
	p := start()
	spec := fund(t, p.node, "hall", 500_000, 5_000)
	campaign := createCampaign(t, p.client, spec)
	startRain(t, p.client, campaign.ID, longRain(8))

	page := browsertest.Open(t, browser.Options{Home: p.url}, browser.Network) // whose sockets break
	page.Go("/docs")
	tokens := make([]string, players)
	for i := range tokens {
		tokens[i] = token(t, "user-"+strconv.Itoa(i))
	}
	list := testenv.Got(json.Marshal(tokens)).Must(t)
	browsertest.Eval[bool](page, hallScript)
	browsertest.Eval[bool](page, `(hall.enter(%q, %s), true)`, campaign.ID, list)
	page.Until("everybody is in and sees a packet", `hall.ready()`)

	// A stopped process hears nothing, but its sockets stay: the taps still travel when it dies.
	p.Signal(syscall.SIGSTOP)
	browsertest.Eval[bool](page, `(hall.tap(), true)`)
	for _, player := range browsertest.Eval[[]hallPlayer](page, `hall.report()`) {
		if player.State != "open" || len(player.Answers) > 0 {
			t.Errorf("before the kill a player is %s and has %v", player.State, player.Answers)
		}
	}
	p.Kill()
	p = start()
	testenv.Eventually(t, time.Minute, "everybody is back and has an answer", func() bool {
		return !slices.ContainsFunc(browsertest.Eval[[]hallPlayer](page, `hall.report()`),
			func(player hallPlayer) bool {
				return player.State != "open" || len(player.Answers) == 0
			})
	})
	report := browsertest.Eval[[]hallPlayer](page, `hall.report()`)
	browsertest.Eval[bool](page, `(hall.leave(), true)`)
	checkTries(t, report)
	checkAnswers(t, p.client, campaign.ID, report)
}

// checkTries: the waits for the first try fill the window of the jitter, a second, and no player tries before its end.
// The delay after it is the machine's: a page with fifty clients is late on a busy machine.
func checkTries(t *testing.T, report []hallPlayer) {
	t.Helper()
	const window, early = 1_000.0, 5.0 // ms; timers may be early by a rounding
	var quarters [4]int
	all, lost, late := 0, 0.0, 0.0
	for _, p := range report {
		if len(p.Tries) == 0 || p.Wait < 0 || p.Wait > window || p.Tries[0]-p.Lost < p.Wait-early {
			t.Errorf("a player lost the line at %.0f, was to wait for %.0f ms, and tried at %.0f", p.Lost, p.Wait,
				p.Tries)
			continue
		}
		quarters[min(3, int(4*p.Wait/window))]++
		all += len(p.Tries)
		lost, late = max(lost, p.Lost), max(late, p.Tries[0]-p.Lost-p.Wait)
	}
	t.Logf("all knew within %.0f ms; %d first tries in the quarters of a second: %v, late by at most %.0f ms; "+
		"%d tries until all were back",
		lost, len(report), quarters, late, all)
	if slices.Contains(quarters[:], 0) || slices.Max(quarters[:]) > len(report)*6/10 {
		t.Errorf("the first tries are not spread over the window: %v", quarters)
	}
}

// checkAnswers: each tap has one answer, of its own, and the ledger has exactly the reported wins.
func checkAnswers(t *testing.T, op *client.Client, campaign string, report []hallPlayer) {
	t.Helper()
	outcomes, reported := map[string]int{}, []string{}
	for _, p := range report {
		if len(p.Answers) != 1 || p.Answers[0].Drop != p.Drop {
			t.Errorf("the tap on %s is answered with %v", p.Drop, p.Answers)
			continue
		}
		outcomes[p.Answers[0].Outcome]++
		if p.Answers[0].Outcome == "won" {
			reported = append(reported, p.Answers[0].Claim)
		}
	}
	t.Logf("answers: %v", outcomes)
	// If the node took longer to come back than a packet falls, taps are late.
	if len(reported) == 0 && outcomes["late"] == 0 || outcomes["error"] > 0 {
		t.Errorf("answers: %v", outcomes)
	}
	slices.Sort(reported)
	testenv.Equal(t, reported, slices.Sorted(maps.Keys(claimsOf(t, op, campaign))), "the reported claims")
	awaitBooks(t, op, campaign)
}
