package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/wire"
	"redrain/rain"
)

// fake is a server that speaks as much of the contract as the commands need. Its answers are fixed; a test changes them
// under mu.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	campaign client.Campaign
	stats    client.Stats
	books    client.Reconciliation
	all      openapi.Books
	full     []any // lines of the answer of a full proof
	audited  openapi.AuditVerification
	matched  openapi.StatementReport
	fairness map[string]client.Fairness
	claims   []client.Claim // of any player
	export   []byte
	looks    int                                              // how often the stats were asked for
	look     func(f *fake, w http.ResponseWriter) (done bool) // before an answer of the stats, with mu held
	requests []string                                         // method, path and body of each request but GET
}

const operatorToken = "op-token"

// theDay is 2026-02-17 12:00 UTC.
const theDay = 1_771_329_600_000

// preview is a split as the server sums it up.
var preview = rain.SplitSummary{
	Packets: 5_000, Mean: 200.25, Deviation: 57.33, Smallest: 101, Median: 199, Largest: 340,
	Histogram: []rain.SplitBin{{From: 101, To: 180, Packets: 1_200}, {From: 181, To: 260, Packets: 3_799},
		{From: 261, To: 340, Packets: 1}, {From: 341, To: 420}},
}

// auditRoots are two days' roots, the newest first.
var auditRoots = client.List[openapi.AuditRoot]{Items: []openapi.AuditRoot{
	{Day: "2026-02-16", At: theDay, Previous: "0b", Root: "ab", Blocks: []openapi.AuditBlock{}},
	{Day: "2026-02-15", At: theDay - 86_400_000, Root: "0b",
		Blocks: []openapi.AuditBlock{{Book: "txn", Number: 7, Last: 12, Rows: 12, Hash: "cd"}}},
}}

// banned is a player, and held a list of wins that are kept apart.
var (
	banned = client.Player{User: "u1", Name: "\x1b小雨", Balance: 88, Banned: true,
		Sanctions: []openapi.Sanction{{Act: "ban", At: theDay, By: "ann", Reason: "a bot"}}}
	held = client.List[client.HeldWin]{Items: []client.HeldWin{{Claim: "c1-7", User: "u1", Amount: 5, State: "held",
		HeldAt: theDay, Score: 70, Reasons: []client.RiskReason{{Sentence: "taps early"}, {Sentence: "is steady"}}}}}
)

// vip is a list of players.
var vip = openapi.PlayerList{List: "vip", Of: "players", Purpose: "invite", Members: 3, CreatedAt: theDay,
	ChangedAt: theDay + 60_000, ChangedBy: "a\x1b[1mnn"}

// acme is a sponsor.
var acme = openapi.Sponsor{Sponsor: "acme", Balance: 123_456}

var seed = rain.Seed{1, 2, 3}

func newFake(t *testing.T) *fake {
	t.Helper()
	fallen := rain.Rain{ID: "r1", Campaign: "c1", StartsAt: theDay, Settings: rain.DefaultRain().Settings, Seed: seed}
	fallen.DecoyPercent = 10
	coming := fallen
	coming.ID, coming.StartsAt, coming.FirstWave, coming.Seed = "r2", theDay+3_600_000, fallen.Waves(), rain.Seed{9}
	now := int64(theDay + 60_000)
	most := rain.Money(500)
	f := &fake{
		campaign: client.Campaign{
			ID: "c1", State: "ready", CreatedAt: theDay - 60_000, ExpiresAt: theDay + 86_400_000, Revision: 4,
			CampaignTerms: rain.Spec{
				Name: "春节\x1b[31m gala", Sponsor: "acme", Budget: 1_000_000, Packets: 5_000, Split: rain.DoubleMean,
				Min: 1, Max: &most,
				WinsPerUser: 2, Shards: 3, ExpiresInMS: 86_400_000,
			},
			Rains: []wire.Rain{*wire.RainOf(&fallen, now, false), *wire.RainOf(&coming, now, false)},
		},
		stats: client.Stats{Online: 312, Taps: 10_233, Won: 20, Stock: 4_980, Paid: 18, AmountWon: 4_100,
			AmountPaid: 3_900, AmountLeft: 995_900, GrabsPerSecond: 120.25},
		books: client.Reconciliation{Funded: 1_000_000, Paid: 3_900, Stock: 995_900, Unsettled: 200,
			Balanced: true},
		all:      openapi.Books{Balanced: true, Checked: 12, Transactions: 40_211, Accounts: 9_120, CheckedAt: now},
		matched:  openapi.StatementReport{Lines: 2, Matched: 2, Findings: []openapi.StatementFinding{}},
		audited:  openapi.AuditVerification{Whole: true, Roots: 31, Blocks: 62, Rows: 40_211, Findings: []string{}},
		fairness: map[string]client.Fairness{"r1": fairnessOf(fallen), "r2": {Commitment: coming.Seed.Commitment()}},
	}
	f.Server = httptest.NewServer(f.handler())
	t.Cleanup(f.Close)
	return f
}

func fairnessOf(r rain.Rain) client.Fairness {
	return client.Fairness{Commitment: r.Seed.Commitment(), Seed: r.Seed.Hex(), Schedule: openapi.Schedule{
		Rain: r.ID, Campaign: r.Campaign, StartsAt: r.StartsAt, RainSettings: r.Settings, FirstWave: r.FirstWave,
		Waves: r.Waves(), Drops: r.Drops(), Digest: r.Digest(),
	}}
}

// fixed answers always with v. If v is a pointer, a test may change its value.
func fixed(v any) func(http.ResponseWriter, *http.Request) any {
	return func(http.ResponseWriter, *http.Request) any { return v }
}

func (f *fake) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(w http.ResponseWriter, r *http.Request) any{
		"GET /api/v1/campaigns": func(_ http.ResponseWriter, r *http.Request) any {
			if r.URL.Query().Get("cursor") == "" {
				return client.List[client.Campaign]{Items: []client.Campaign{f.campaign}, Next: "c1"}
			}
			other := f.campaign
			other.ID, other.Name, other.State, other.Rains = "c2", "Gala", "closed", nil
			return client.List[client.Campaign]{Items: []client.Campaign{other}}
		},
		"POST /api/v1/campaigns":      fixed(&f.campaign),
		"POST /api/v1/splits/preview": fixed(preview),
		"GET /api/v1/campaigns/c1":    fixed(&f.campaign),
		"POST /api/v1/campaigns/c1/rebuild": fixed(openapi.Rebuilt{Campaign: "c1", Shards: []int{0, 2}, Packets: 3_300,
			Wins: 20}),
		"POST /api/v1/seal/rotate": fixed(openapi.SealKey{Key: 4}),
		"POST /api/v1/campaigns/c1/{command}": func(_ http.ResponseWriter,
			r *http.Request) any {
			return f.command(r.PathValue("command"))
		},
		"POST /api/v1/campaigns/c1/rains":             fixed(&f.campaign.Rains[1]),
		"POST /api/v1/campaigns/c1/rains/{rain}/stop": fixed(&f.campaign.Rains[0]),
		"GET /api/v1/campaigns/c1/stats":              f.answerStats,
		"GET /api/v1/campaigns/c1/export": func(w http.ResponseWriter, _ *http.Request) any {
			_, _ = w.Write(f.export)
			return nil
		},
		"GET /api/v1/campaigns/c1/reconciliation": fixed(&f.books),
		"GET /api/v1/reconciliation/full": func(w http.ResponseWriter, _ *http.Request) any {
			if f.full == nil {
				return map[string]any{"books": f.all}
			}
			lines := json.NewEncoder(w)
			for _, line := range f.full {
				_ = lines.Encode(line)
			}
			return nil
		},
		"GET /api/v1/audit/roots":             fixed(auditRoots),
		"POST /api/v1/audit/verify":           fixed(&f.audited),
		"POST /api/v1/statements/match":       fixed(&f.matched),
		"POST /api/v1/sponsors/acme/deposits": fixed(acme),
		"GET /api/v1/sponsors/acme":           fixed(acme),
		"GET /api/v1/sponsors": fixed(client.List[openapi.Sponsor]{Items: []openapi.Sponsor{acme,
			{Sponsor: "红\x1b[1m", Balance: 7}}}),
		"GET /api/v1/payouts": fixed(client.List[client.DeadLetter]{Items: []client.DeadLetter{
			{Claim: "c1-4", Letter: "1", Kind: "pay", Campaign: "c1", User: "u\x1b[1m1", Packet: "4", Amount: 88,
				Reason: "packet 4 is paid to another player", CreatedAt: theDay},
			{Claim: "c1.0.9-0", Letter: "12", Kind: "reclaim", Campaign: "c1", Packet: "-1", Amount: 1_200,
				Reason: "given up after 10 tries", CreatedAt: theDay + 1_000},
		}}),
		"POST /api/v1/payouts/c1-4/retry": fixed(client.Claim{Claim: "c1-4", User: "u1", Packet: "4", Amount: 88,
			At: theDay, State: client.ClaimSettled}),
		"POST /api/v1/payouts/w1/retry": fixed(client.Claim{Claim: "w1", User: "u1", Amount: 250,
			State: client.ClaimFailed}),
		"GET /api/v1/withdrawals/w1": func(w http.ResponseWriter, r *http.Request) any {
			shown := aWithdrawal("sent", true)(w, r).(client.Withdrawal)
			shown.Receiver, shown.LastError = "http:bank.example:shop7", "no clear answer"
			shown.Order = &openapi.PendingOrder{Approval: "a7", What: "paid", By: "ann",
				Reason: "the bank\x1b says so", AskedAt: theDay,
				Until: theDay + 86_400_000}
			shown.History = []openapi.WithdrawalEvent{
				{At: theDay, Stage: "requested", Actor: "player:u1"},
				{At: theDay + 1_000, Stage: "sent", Actor: "redrain", Reason: "sent to http:bank.example:shop7"},
			}
			return shown
		},
		"POST /api/v1/withdrawals/w1/hold":    aWithdrawal("held", false),
		"POST /api/v1/withdrawals/w1/release": aWithdrawal("requested", false),
		"POST /api/v1/withdrawals/w1/paid": func(w http.ResponseWriter, _ *http.Request) any {
			w.WriteHeader(http.StatusAccepted)
			return anOrder("pending")
		},
		"GET /api/v1/approvals": func(_ http.ResponseWriter, r *http.Request) any {
			orders := client.List[openapi.Approval]{Items: []openapi.Approval{anOrder("pending")}}
			if r.URL.Query().Get("state") == "" {
				orders.Items = append(orders.Items, anOrder("rejected"))
			}
			return orders
		},
		"POST /api/v1/approvals/a7/confirm": fixed(anOrder("confirmed")),
		"POST /api/v1/approvals/a7/reject":  fixed(anOrder("rejected")),
		"POST /api/v1/withdrawals/w1/back":  aWithdrawal("returned", false),
		"POST /api/v1/payouts/c1-4/dismiss": fixed(openapi.Dismissed{Claim: "c1-4", Dismissed: 1, Reclaimed: 88,
			Kept: []string{"a retry can pay it"}}),
		"POST /api/v1/payouts/retry": fixed(client.Retried{Retried: 3, Settled: 2, StillDead: 1}),
		"GET /api/v1/lists": func(_ http.ResponseWriter, r *http.Request) any {
			if r.URL.Query().Get("cursor") == "" {
				return client.List[openapi.PlayerList]{Items: []openapi.PlayerList{vip}, Next: "vip"}
			}
			return client.List[openapi.PlayerList]{Items: []openapi.PlayerList{
				{List: "红", Of: "addresses", Purpose: "deny", CreatedAt: theDay, ChangedAt: theDay, ChangedBy: "bob"}}}
		},
		"GET /api/v1/lists/vip/members": func(_ http.ResponseWriter, r *http.Request) any {
			switch q := r.URL.Query(); {
			case q.Get("member") != "":
				return client.List[openapi.ListMember]{}
			case q.Get("cursor") == "":
				return client.List[openapi.ListMember]{Items: []openapi.ListMember{{Member: "u1", AddedAt: theDay}},
					Next: "u1"}
			}
			return client.List[openapi.ListMember]{Items: []openapi.ListMember{{Member: "u\x1b2", AddedAt: theDay}}}
		},
		"POST /api/v1/lists": fixed(vip), "GET /api/v1/lists/vip": fixed(vip),
		"POST /api/v1/lists/vip/{change}": fixed(vip), "PUT /api/v1/lists/vip/members": fixed(vip),
		"DELETE /api/v1/lists/{list}": fixed(nil),
		"GET /api/v1/users/u1":        fixed(banned), "POST /api/v1/users/u1/{act}": fixed(banned),
		"GET /api/v1/risk/held": fixed(held), "POST /api/v1/risk/{act}": fixed(held),
		"GET /api/v1/users/u1/claims": func(http.ResponseWriter, *http.Request) any {
			return client.List[client.Claim]{Items: f.claims}
		},
		"GET /api/v1/campaigns/c1/rains/{rain}/fairness": func(_ http.ResponseWriter,
			r *http.Request) any {
			return f.fairness[r.PathValue("rain")]
		},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if r.Header.Get("Authorization") != "Bearer "+operatorToken {
				refuse(w, http.StatusUnauthorized, "unauthorized", "give a valid token: Authorization: Bearer …")
				return
			}
			f.note(r)
			if a := answer(w, r); a != nil {
				_ = json.NewEncoder(w).Encode(a)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "unknown_campaign", "there is no such campaign")
	})
	return mux
}

func refuse(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "detail": detail})
}

// note remembers a request that changes something.
func (f *fake) note(r *http.Request) {
	if r.Method == http.MethodGet {
		return
	}
	body, _ := io.ReadAll(r.Body)
	line := fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, bytes.TrimSpace(body))
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		line += kind
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		line += " " + key
	}
	f.requests = append(f.requests, line)
}

func (f *fake) command(name string) any {
	c := f.campaign
	c.State = map[string]string{"pause": "paused", "resume": "ready", "close": "closed"}[name]
	return c
}

func (f *fake) answerStats(w http.ResponseWriter, _ *http.Request) any {
	f.looks++
	if f.look != nil && f.look(f, w) {
		return nil
	}
	return f.stats
}

// refuse makes the server refuse to create anything, with the fields' faults.
func (f *fake) refuse(faults rain.Invalid) {
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(map[string]any{"code": "invalid", "detail": "invalid request",
			"errors": faults})
	})
}

// aWithdrawal answers with a withdrawal in a stage.
func aWithdrawal(stage string, dead bool) func(http.ResponseWriter, *http.Request) any {
	return func(http.ResponseWriter, *http.Request) any {
		w := wire.Withdrawal{ID: "w1", User: "u1", Amount: 250, Stage: stage}
		return client.Withdrawal{Withdrawal: w, Dead: dead}
	}
}

// anOrder is one that ann has asked for.
func anOrder(state string) openapi.Approval {
	o := openapi.Approval{Approval: "a7", Action: "withdrawal.paid", Target: "w1", Amount: 250, Reference: "b7",
		Reason: "seen", AskedBy: "ann", AskedAt: theDay, ExpiresAt: theDay + 86_400_000, State: state}
	if state != "pending" {
		o.DecidedBy, o.DecidedAt = "bob", theDay+1000
	}
	return o
}
