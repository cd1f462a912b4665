package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"redrain/internal/wire"
	"redrain/rain"
)

// formsServer is a fake server for the forms and lists of the console. It checks a campaign as the server does.
type formsServer struct {
	*fakeServer

	mu       sync.Mutex
	balances map[string]int64
	letters  []object
	// by "METHOD /path": answered once, with its status, before anything else; of a success half arrives
	refuse map[string]object
}

func newForms(t *testing.T, role string) *formsServer {
	t.Helper()
	f := &formsServer{fakeServer: newFake(t), balances: map[string]int64{"acme": 2_500_000, "lotus-media": 120_000_000},
		refuse: map[string]object{}}
	get := func(path string, body any) { f.serve("GET "+path, always(body)) }
	get("/whoami", object{"role": role, "version": "test", "server_time": f.now(), "in_process": true, "guests": true})
	campaign := f.readyCampaign("c1", object{})
	get("/campaigns", object{"items": []object{campaign}})
	get("/campaigns/c1", campaign)
	get("/campaigns/c2", f.readyCampaign("c2", object{"name": "年会红包雨", "sponsor": "lotus-media"}))
	get("/campaigns/c1/reconciliation", object{
		"funded": 1_000_000, "paid": 235_410, "reclaimed": 0, "stock": 763_880, "unsettled": 710, "dead": 0,
		"difference": 0, "balanced": true,
	})
	get("/reconciliation/proved", object{"everything": object{"proved_at": f.now(), "took_ms": 812, "balanced": true,
		"findings": 0, "difference": 0}, "oldest": 0, "stale": false, "campaigns": []object{}})
	get("/users", object{"items": []object{{"user": "u1", "balance": 480}}})
	get("/bans", object{"items": []object{}})
	get("/users/u1", object{"user": "u1", "name": "<b>小雨</b>", "balance": 1_288})
	get("/users/u1/claims", object{"items": []object{{"claim": "c1-7", "user": "u1", "packet": "7", "amount": 888,
		"at": f.now(), "state": "settled"}}})
	get("/users/u1/withdrawals", object{"items": []object{f.withdrawal("paid",
		object{"reference": "wx-20251121-0042"})}})
	get("/audit", object{"items": f.audit()})
	f.serve("GET /sponsors", f.sponsors)
	f.serve("GET /withdrawals", f.withdrawals)
	f.serve("GET /payouts", func(*http.Request, []byte) (int, any) { return http.StatusOK, object{"items": f.letters} })
	f.serve("POST /payouts/retry", f.retryAll)
	f.serve("POST /splits/preview", preview)
	f.serve("POST /campaigns", f.create)
	for _, id := range []string{"acme", "lotus-media", "newcomer"} {
		f.serve("GET /sponsors/"+id, func(*http.Request, []byte) (int, any) { return f.sponsor(id) })
		f.serve("POST /sponsors/"+id+"/deposits",
			func(_ *http.Request, body []byte) (int, any) { return f.deposit(id, body) })
	}
	f.claimed(1_180)
	return f
}

// serve answers a path.
func (f *formsServer) serve(key string, answer func(*http.Request, []byte) (int, any)) {
	f.answer[key] = func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		defer f.mu.Unlock()
		if refused := f.refuse[key]; refused != nil {
			delete(f.refuse, key)
			status := refused["status"].(int)
			answer := reply(status, refused)
			if status < http.StatusBadRequest {
				answer = cutOff(answer)
			}
			answer(w, r)
			return
		}
		status, answered := answer(r, body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answered)
	}
}

// always answers with one body.
func always(body any) func(*http.Request, []byte) (int, any) {
	return func(*http.Request, []byte) (int, any) { return http.StatusOK, body }
}

// refuseOnce makes the next request fail.
func (f *formsServer) refuseOnce(key string, problem object) {
	locked(&f.mu, func() { f.refuse[key] = problem })
}

// readyCampaign is one that is ready, with other fields.
func (f *fakeServer) readyCampaign(id string, with object) object {
	c := object{}
	if err := json.Unmarshal(wire.Encode(rain.DefaultSpec()), &c); err != nil {
		panic(err)
	}
	maps.Copy(c, object{
		"id": id, "name": "Gala", "sponsor": "acme", "budget": 1_000_000, "packets": 5_000, "split": "gaussian",
		"min": 50, "max": 350, "wins_per_user": 3, "expires_in_ms": 7_200_000, "state": "ready", "created_at": f.now(),
		"expires_at": f.now() + 7_200_000, "revision": 3, "rains": []object{},
	})
	maps.Copy(c, with)
	return c
}

func (f *formsServer) withdrawal(state string, with object) object {
	w := object{
		"withdrawal": "w5xq2o4n7h3k1m9ab", "user": "u1", "amount": 88_800, "state": state,
		"created_at": f.now() - 3_600_000, "finished_at": f.now() - 3_500_000,
		"dead": false, "attempts": 1,
	}
	if state == "pending" {
		delete(w, "finished_at")
	}
	maps.Copy(w, with)
	return w
}

func (f *formsServer) audit() []object {
	return []object{
		{"at": f.now(), "actor": "operator", "role": "operator", "action": "rain.start", "target": "campaign:c1",
			"detail": object{"rain": "r1", "address": "127.0.0.1"}, "request": "4bf92f3577b34da6a3ce929d0e0e4736"},
		{"at": f.now() - 60_000, "actor": "operator", "role": "operator", "action": "campaign.create",
			"target": "campaign:c1", "detail": object{
				"address": "127.0.0.1", "before": nil, "after": object{"name": "Gala", "budget": 1_000_000,
					"packets": 5_000, "sponsor": "acme", "split": "gaussian"},
			}},
		{"at": f.now() - 90_000, "actor": "operator", "role": "operator", "action": "deposit", "target": "sponsor:acme",
			"detail": object{"amount": 2_500_000, "reference": "invoice 17", "address": "127.0.0.1"}},
	}
}

// A row of the list of dead letters.
func (f *formsServer) letter(claim, kind, user string, amount int64, reason string) object {
	return object{
		"letter": claim, "claim": claim, "campaign": "c1", "user": user, "packet": "7", "amount": amount,
		"at":    f.now() - 7_300_000,
		"state": "dead", "kind": kind,
		"reason": reason, "created_at": f.now() - 7_200_000,
	}
}

func (f *formsServer) sponsors(*http.Request, []byte) (int, any) {
	return http.StatusOK, object{"items": []object{
		{"sponsor": "acme", "balance": f.balances["acme"]},
		{"sponsor": "lotus-media", "balance": f.balances["lotus-media"]},
	}}
}

func (f *formsServer) sponsor(id string) (int, any) {
	balance, known := f.balances[id]
	if !known {
		return http.StatusNotFound, object{"status": 404, "code": "unknown_sponsor", "title": "Not Found"}
	}
	return http.StatusOK, object{"sponsor": id, "balance": balance}
}

func (f *formsServer) deposit(id string, body []byte) (int, any) {
	var in struct {
		Amount int64 `json:"amount"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return http.StatusBadRequest, object{"status": 400, "code": "malformed"}
	}
	f.balances[id] += in.Amount
	return http.StatusCreated, object{"sponsor": id, "balance": f.balances[id]}
}

func (f *formsServer) create(_ *http.Request, body []byte) (int, any) {
	spec := rain.DefaultSpec()
	if err := json.Unmarshal(body, &spec); err != nil {
		return http.StatusBadRequest, object{"status": 400, "code": "malformed"}
	}
	if err := spec.Validate(); err != nil {
		return http.StatusUnprocessableEntity, object{"status": 422, "code": "invalid", "title": "Unprocessable Entity",
			"errors": err}
	}
	if f.balances[spec.Sponsor] < int64(spec.Budget) {
		return http.StatusConflict, object{"status": 409, "code": "insufficient_funds", "title": "Conflict"}
	}
	f.balances[spec.Sponsor] -= int64(spec.Budget)
	return http.StatusCreated, f.readyCampaign("c2", object{"name": spec.Name, "budget": spec.Budget,
		"packets": spec.Packets})
}

func preview(_ *http.Request, body []byte) (int, any) {
	split := rain.DefaultSplit()
	if err := json.Unmarshal(body, &split); err != nil {
		return http.StatusBadRequest, object{"status": 400, "code": "malformed"}
	}
	amounts, err := split.Cut(rain.Seed{1})
	if err != nil {
		return http.StatusUnprocessableEntity, object{"status": 422, "code": "invalid", "errors": err}
	}
	return http.StatusOK, rain.Describe(amounts)
}

func (f *formsServer) withdrawals(r *http.Request, _ []byte) (int, any) {
	items := []object{
		f.withdrawal("pending", object{"withdrawal": "w1", "attempts": 3, "next_at": f.now() + 60_000,
			"last_error": "waits for an operator: the provider answered 503"}),
		f.withdrawal("paid", object{"withdrawal": "w2", "reference": "wx-20251121-0042", "user": "u2"}),
		f.withdrawal("failed", object{"withdrawal": "w3", "reason": "the account is closed", "user": "u3"}),
		f.withdrawal("pending", object{"withdrawal": "w4", "dead": true, "attempts": 10, "user": "u4",
			"last_error": "the provider gave no clear answer about the payment"}),
	}
	state := r.URL.Query().Get("state")
	wanted := []object{}
	for _, w := range items {
		if state == "" || w["state"] == state {
			wanted = append(wanted, w)
		}
	}
	return http.StatusOK, object{"items": wanted}
}

func (f *formsServer) retryAll(*http.Request, []byte) (int, any) {
	n := len(f.letters)
	f.letters = []object{}
	return http.StatusOK, object{"retried": n, "settled": n, "still_dead": 0, "complete": true}
}

// claimed makes claims of c1, listed 50 at a time, filtered, or as CSV.
func (f *formsServer) claimed(n int) {
	states := []string{"settled", "settled", "settled", "granted", "dead"}
	claim := func(i int) object {
		return object{"claim": fmt.Sprintf("c1-%d", i), "user": fmt.Sprintf("u%d", i%97), "packet": strconv.Itoa(i),
			"amount": 50 + i*7%300, "at": f.now(), "state": states[i%len(states)]}
	}
	f.answer["GET /campaigns/c1/claims"] = func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		after, _ := strconv.Atoi(q.Get("cursor"))
		csv := strings.Contains(r.Header.Get("Accept"), "text/csv")
		items, next := []object{}, ""
		for i := after + 1; i <= n; i++ {
			c := claim(i)
			wanted := true
			for _, field := range []string{"user", "packet", "state"} {
				wanted = wanted && (q.Get(field) == "" || c[field] == q.Get(field))
			}
			if !wanted {
				continue
			}
			if len(items) == 50 && !csv {
				next = items[49]["packet"].(string)
				break
			}
			items = append(items, c)
		}
		if !csv {
			body := object{"items": items}
			if next != "" {
				body["next_cursor"] = next
			}
			reply(http.StatusOK, body)(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		_, _ = fmt.Fprintln(w, "claim,user,packet,amount,at,state")
		for _, c := range items {
			_, _ = fmt.Fprintf(w, "%v,%v,%v,%v,%v,%v\n", c["claim"], c["user"], c["packet"], c["amount"], c["at"],
				c["state"])
		}
	}
}
