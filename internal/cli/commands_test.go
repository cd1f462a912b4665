package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
)

// at is an operator's environment for this server.
func (f *fake) at() map[string]string {
	return map[string]string{"REDRAIN_SERVER": f.URL, "REDRAIN_TOKEN": operatorToken}
}

// bodyOf returns the body of a request whose fields differ from the defaults in some, given as JSON.
func bodyOf[T any](defaults T, fields string) string {
	if err := json.Unmarshal([]byte("{"+fields+"}"), &defaults); err != nil {
		panic(err)
	}
	return string(wire.Encode(defaults))
}

func TestCommands(t *testing.T) {
	type command struct {
		args    string
		golden  string // of standard output
		request string // the request that changes something; "": none
	}
	tests := map[string]command{
		"create": {
			args: "campaign create --name Gala --sponsor acme --budget 10000 --packets 5000 --max 5.0 " +
				"--wins-per-user 2 --shards 3",
			golden: "campaign.golden",
			request: "POST /api/v1/campaigns " + bodyOf(rain.DefaultSpec(), `"name":"Gala","sponsor":"acme",`+
				`"budget":1000000,"packets":5000,"max":500,"wins_per_user":2,"shards":3`),
		},
		"create a list": {
			args: "campaign create --name Gala --sponsor acme --budget 0.06 --packets 3 --split list --amounts 1fen," +
				"0.02 --amounts=3fen --expires-in 1h --taps-per-user 9 --min 2fen --idempotency-key once",
			golden: "campaign.golden",
			request: "POST /api/v1/campaigns " + bodyOf(rain.DefaultSpec(), `"name":"Gala","sponsor":"acme",`+
				`"budget":6,"packets":3,"split":"list","min":2,"amounts":[1,2,3],"taps_per_user":9,`+
				`"expires_in_ms":3600000`) + " once",
		},
		"preview": {
			args:   "campaign preview --budget 1000000fen --packets 5000 --split gaussian --min 0.5 --max 3.50",
			golden: "preview.golden",
			request: `POST /api/v1/splits/preview {"budget":1000000,"packets":5000,"split":"gaussian","min":50,` +
				`"max":350,"amounts":null}`,
		},
		"preview a list": {
			args:   "campaign preview --budget 6fen --packets 3 --split list --amounts 0.01,0.02,0.03",
			golden: "preview.golden",
			request: `POST /api/v1/splits/preview {"budget":6,"packets":3,"split":"list","min":1,"max":null,` +
				`"amounts":[1,2,3]}`,
		},
		"list":   {args: "campaign list", golden: "campaigns.golden"},
		"show":   {args: "campaign show c1", golden: "campaign.golden"},
		"pause":  {args: "campaign pause c1", golden: "paused.golden", request: "POST /api/v1/campaigns/c1/pause "},
		"resume": {args: "campaign resume c1", golden: "campaign.golden", request: "POST /api/v1/campaigns/c1/resume "},
		"close":  {args: "campaign close c1", golden: "closed.golden", request: "POST /api/v1/campaigns/c1/close "},
		"start": {
			args: "rain start c1", golden: "rain-coming.golden",
			request: "POST /api/v1/campaigns/c1/rains " + bodyOf(rain.DefaultRain(), ""),
		},
		"start in": {
			args: "rain start c1 --starts-in 5s --duration 20s --drops-per-second 40 --fall 2500ms " +
				"--decoy-percent 10 --pacing even --idempotency-key k",
			golden: "rain-coming.golden",
			request: "POST /api/v1/campaigns/c1/rains " + bodyOf(rain.DefaultRain(), `"starts_in_ms":5000,`+
				`"duration_ms":20000,"drops_per_second":40,"fall_ms":2500,"decoy_percent":10,"pacing":"even"`) + " k",
		},
		"start at": {
			args: "rain start c1 --starts-at 2026-02-17T20:00:00+08:00", golden: "rain-coming.golden",
			request: "POST /api/v1/campaigns/c1/rains " + bodyOf(rain.DefaultRain(), `"starts_at":1771329600000`),
		},
		"stop": {args: "rain stop c1 r1", golden: "rain-fallen.golden",
			request: "POST /api/v1/campaigns/c1/rains/r1/stop "},
		"stop newest": {args: "rain stop c1", golden: "rain-fallen.golden",
			request: "POST /api/v1/campaigns/c1/rains/r2/stop "},
		"reconcile":        {args: "reconcile c1", golden: "reconcile.golden"},
		"rotate the seals": {args: "seal rotate", golden: "seal.golden", request: "POST /api/v1/seal/rotate "},
		"rebuild": {args: "rebuild c1", golden: "rebuild.golden",
			request: "POST /api/v1/campaigns/c1/rebuild "},
		"everything": {args: "reconcile", golden: "reconcile-all.golden"},
		"audit verify": {args: "audit verify", golden: "audit-verify.golden",
			request: "POST /api/v1/audit/verify {}"},
		"audit from": {args: "audit verify --from 2026-02-15", golden: "audit-verify.golden",
			request: `POST /api/v1/audit/verify {"from":"2026-02-15"}`},
		"audit roots": {args: "audit roots", golden: "audit-roots.golden"},
		"verify":      {args: "verify c1", golden: "verify.golden"},
		"deposit": {args: "sponsor deposit acme --amount 5.00 --reference bank-7", golden: "sponsor.golden",
			request: `POST /api/v1/sponsors/acme/deposits {"amount":500,"reference":"bank-7"}`},
		"sponsor":  {args: "sponsor show acme", golden: "sponsor.golden"},
		"sponsors": {args: "sponsor list", golden: "sponsors.golden"},
		"dead":     {args: "payout list", golden: "payouts.golden"},
		"retry": {args: "payout retry c1-4", golden: "payout.golden",
			request: "POST /api/v1/payouts/c1-4/retry "},
		"redrive": {args: "payout retry w1", golden: "payout-withdrawal.golden",
			request: "POST /api/v1/payouts/w1/retry "},
		"dismiss": {args: "payout dismiss c1-4 --reason=forged", golden: "payout-dismissed.golden",
			request: `POST /api/v1/payouts/c1-4/dismiss {"reason":"forged"}`},
		"dismiss one": {args: "payout dismiss c1-4 --reason=forged --letter 12", golden: "payout-dismissed.golden",
			request: `POST /api/v1/payouts/c1-4/dismiss {"letter":"12","reason":"forged"}`},
		"withdrawal": {args: "withdrawal show w1", golden: "withdrawal-shown.golden"},
		"hold": {args: "withdrawal hold w1 --reason odd", golden: "withdrawal-held.golden",
			request: `POST /api/v1/withdrawals/w1/hold {"reason":"odd"}`},
		"release": {args: "withdrawal release w1 --reason fine", golden: "withdrawal-released.golden",
			request: `POST /api/v1/withdrawals/w1/release {"reason":"fine"}`},
		"mark as paid": {args: "withdrawal paid w1 --reason seen --reference b7",
			golden:  "withdrawal-asked.golden",
			request: `POST /api/v1/withdrawals/w1/paid {"reason":"seen","reference":"b7"}`},
		"give back": {args: "withdrawal back w1 --reason never", golden: "withdrawal-back.golden",
			request: `POST /api/v1/withdrawals/w1/back {"reason":"never"}`},
		"player": {args: "user show u1", golden: "user.golden"},
		"ban":    {"user ban u1 --reason bot", "user.golden", `POST /api/v1/users/u1/ban {"reason":"bot"}`},
		"held":   {args: "risk list", golden: "held.golden"},
		"give": {"risk release c1-7 --reason fine", "held.golden",
			`POST /api/v1/risk/release {"claims":["c1-7"],"reason":"fine"}`},
		"orders":     {args: "approval list", golden: "approvals.golden"},
		"all orders": {args: "approval list --all", golden: "approvals-all.golden"},
		"confirm": {args: "approval confirm a7", golden: "approval-confirmed.golden",
			request: `POST /api/v1/approvals/a7/confirm {}`},
		"reject": {args: "approval reject a7 --reason no", golden: "approval-rejected.golden",
			request: `POST /api/v1/approvals/a7/reject {"reason":"no"}`},
		"retry all": {args: "payout retry --all", golden: "payouts-retried.golden",
			request: "POST /api/v1/payouts/retry {}"},
		"retry all of one": {
			args: "payout retry --all --campaign c1", golden: "payouts-retried.golden",
			request: `POST /api/v1/payouts/retry {"campaign":"c1"}`,
		},
	}
	csv := writeFile(t, "player\nu1\n\"u,2\"\n")
	for _, tc := range []struct{ args, golden, request string }{
		{"create vip", "list.golden", `POST /api/v1/lists {"list":"vip","of":"players","purpose":"invite"}`},
		{"create 员工 --of addresses --purpose deny", "list.golden",
			`POST /api/v1/lists {"list":"员工","of":"addresses","purpose":"deny"}`},
		{"show vip", "list.golden", ""},
		{"show", "lists.golden", ""},
		{"members vip", "list-members.golden", ""},
		{"members vip --member u7", "list-no-members.golden", ""},
		{"import vip " + csv, "list.golden", "POST /api/v1/lists/vip/members player\nu1\n\"u,2\"text/csv"},
		{"import vip --replace " + csv, "list.golden", "PUT /api/v1/lists/vip/members player\nu1\n\"u,2\"text/csv"},
		{"add vip u1 红包 u,2", "list.golden", `POST /api/v1/lists/vip/members {"members":["u1","红包","u,2"]}`},
		{"remove vip u1", "list.golden", `POST /api/v1/lists/vip/remove {"members":["u1"]}`},
		{"delete vip", "list-deleted.golden", "DELETE /api/v1/lists/vip "},
		{"delete 员工", "list-deleted-words.golden", "DELETE /api/v1/lists/员工 "},
	} {
		tests["list "+tc.args] = command{"list " + tc.args, tc.golden, tc.request}
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			got := run(t, f.at(), strings.Fields(tc.args)...)
			if got.code != cli.ExitOK || got.stderr != "" {
				t.Fatalf("exit %d: %s", got.code, got.stderr)
			}
			golden(t, tc.golden, got.stdout)
			var want []string
			if tc.request != "" {
				want = []string{tc.request}
			}
			if diff := cmp.Diff(want, f.requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// --json must give a program all that the server said.
func TestJSON(t *testing.T) {
	f := newFake(t)
	decode := func(args string, into any) {
		t.Helper()
		got := run(t, f.at(), append(strings.Fields(args), "--json")...)
		if got.code != cli.ExitOK || got.stderr != "" {
			t.Fatalf("%s: exit %d: %s", args, got.code, got.stderr)
		}
		if err := json.Unmarshal([]byte(got.stdout), into); err != nil {
			t.Fatalf("%s: %v:\n%s", args, err, got.stdout)
		}
	}
	var c client.Campaign
	decode("campaign show c1", &c)
	testenv.Equal(t, cmp.Diff(f.campaign, c), "", "show")
	var looked rain.SplitSummary
	decode("campaign preview --budget 0.10 --packets 5", &looked)
	testenv.Equal(t, cmp.Diff(preview, looked), "", "preview")
	var all []client.Campaign
	decode("campaign list", &all)
	if len(all) != 2 || all[1].ID != "c2" {
		t.Errorf("list: %+v", all)
	}
	var members []openapi.ListMember
	decode("list members vip", &members)
	if len(members) != 2 || members[1].Member != "u\x1b2" {
		t.Errorf("members: %+v", members)
	}
	decode("list members vip --member u7", &members)
	testenv.Equal(t, len(members), 0, "members of that name")
	var books client.Reconciliation
	decode("reconcile c1", &books)
	testenv.Equal(t, cmp.Diff(f.books, books), "", "reconcile")
	var verifications []struct {
		Rain string `json:"rain"`
		OK   bool   `json:"ok"`
		Seed string `json:"seed"`
	}
	decode("verify c1", &verifications)
	if len(verifications) != 1 || !verifications[0].OK || verifications[0].Seed != seed.Hex() {
		t.Errorf("verify: %+v", verifications)
	}
}

func TestFailures(t *testing.T) {
	f := newFake(t)
	with := func(name, value string) map[string]string {
		env := f.at()
		env[name] = value
		return env
	}
	tests := map[string]struct {
		env  map[string]string
		args string
		want string
	}{
		"no token": {with("REDRAIN_TOKEN", ""), "campaign list",
			"give a valid token: Authorization: Bearer … (unauthorized); give --token or set REDRAIN_TOKEN"},
		"no campaign": {f.at(), "campaign show c9", "there is no such campaign (unknown_campaign)"},
		"no server": {with("REDRAIN_SERVER", "http://127.0.0.1:1"), "campaign list",
			"no answer from http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused"},
		"watch nothing": {f.at(), "watch c9", "there is no such campaign (unknown_campaign)"},
		"no file": {f.at(), "list import vip /no/such.csv",
			"the list's file: open /no/such.csv: no such file or directory"},
		"unknown rain": {f.at(), "verify c1 --rain r9", "the campaign has no such rain"},
		"secret seed":  {f.at(), "verify c1 --rain r2", "rain r2 has not ended: its seed is still secret"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.env, strings.Fields(tc.args)...)
			if got.code != cli.ExitFailure || got.stdout != "" || got.stderr != "redrain: "+tc.want+"\n" {
				t.Errorf("exit %d, output %q, error %q", got.code, got.stdout, got.stderr)
			}
		})
	}
}

func TestReconcileFails(t *testing.T) {
	f := newFake(t)
	f.books.Balanced, f.books.Difference, f.books.Findings = false, -5, []string{"packet 7 is paid to two players"}
	f.books.Letters = []string{"dead letter c1-7 (forged): invalid seal"}
	got := run(t, f.at(), "reconcile", "c1")
	want := "redrain: the books of campaign c1 do not balance: the difference is -0.05, 1 finding\n"
	got.exits(t, cli.ExitFailure, want)
	golden(t, "reconcile-fails.golden", got.stdout)
}

func TestReconcileAllFails(t *testing.T) {
	f := newFake(t)
	f.all.Balanced = false
	f.all.Unchecked = []openapi.UncheckedCampaign{{Campaign: "c7", Reason: "connection refused"}}
	got := run(t, f.at(), "reconcile")
	got.exits(t, cli.ExitFailure,
		"redrain: not every campaign could be checked, so nothing is proved; try again when Redis answers\n")
	f.all.Letters = []string{"dead letter c1-7 (forged, campaign c1): invalid seal"}
	f.all.Difference, f.all.Unbalanced, f.all.Findings = 5, 9,
		[]string{"the balance of user:u1 is 89, but its entries sum to 88"}
	f.all.Campaigns = []openapi.CampaignBooks{{Campaign: "c1", Reconciliation: client.Reconciliation{
		Funded: 1_000, Paid: 905, Stock: 100, Difference: -5,
		Findings: []string{"payout of packet 7: the split says 88"},
	}}}
	got = run(t, f.at(), "reconcile")
	want := "redrain: the books do not balance: 9 campaigns wrong, 1 finding in the ledger itself; the " +
		"differences come to 0.05\n"
	got.exits(t, cli.ExitFailure, want)
	golden(t, "reconcile-all-fails.golden", got.stdout)
	testenv.Equal(t, run(t, f.at(), "reconcile", "c1", "--full").code, cli.ExitUsage, "exit of a campaign and --full")
}

// TestReconcileFull: every row is read, standard error hears how far that has come, and an answer that is cut off
// proves nothing.
func TestReconcileFull(t *testing.T) {
	f := newFake(t)
	progress := map[string]any{"progress": openapi.ProofProgress{Part: "the accounts", Done: 500, Of: 2500, Rate: 250,
		LeftMS: 8000}}
	books := f.all
	f.full = []any{progress, map[string]any{"books": books}}
	got := run(t, f.at(), "reconcile", "--full")
	got.exits(t, cli.ExitOK, "reading the accounts: 500 of about 2500 rows, 250 a second, 8s left\n")
	golden(t, "reconcile-all.golden", got.stdout)
	got = run(t, f.at(), "reconcile", "--full", "--json")
	if want := `{"part":"the accounts","done":500,"of":2500,"rate":250,"left_ms":8000}` +
		"\n"; got.code != cli.ExitOK ||
		got.stderr != want || !json.Valid([]byte(got.stdout)) {
		t.Errorf("exit %d, %q, %q", got.code, got.stderr, got.stdout)
	}
	books.Balanced, books.Findings = false, []string{"transaction 7 was changed"}
	f.full = []any{map[string]any{"books": books}}
	if got := run(t, f.at(), "reconcile", "--full"); got.code != cli.ExitFailure {
		t.Errorf("a finding: exit %d, %s", got.code, got.stderr)
	}
	f.full = []any{progress}
	run(t, f.at(), "reconcile", "--full").exitsSaying(t, cli.ExitFailure, "was cut off, so nothing is proved")
}
