package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"redrain/client/openapi"
	"redrain/internal/auth"
	"redrain/internal/seal"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// office is the API before a real ledger, with people of all kinds.
type office struct {
	*desk

	t     *testing.T
	b     *paytest.Books
	notes auditNotes
	api   *API
}

func newOffice(t *testing.T, above rain.Money) *office {
	t.Helper()
	o := &office{desk: &desk{answered: map[string]*ledger.Answer{}}, t: t, b: paytest.OnSQLite(t)}
	people := staff{
		"ann": person("ann", auth.RoleCashier), "bob": person("bob", auth.RoleAdmin),
		"cyd": person("cyd", auth.RoleViewer), "dan": person("dan", auth.RoleOperator),
		"fay": person("fay", auth.RoleCashier), "shared": testStaff["shared"],
	}
	o.api = newAPI(Options{
		Withdrawals: o.b.Withdrawals, DeadLetters: o.b.DeadLetters, Approvals: o.b.Approvals.Above(&above),
		Sponsors: o.b.Sponsors, Audit: &o.notes, Answers: o.desk, Notifier: o.desk, Operators: people,
		WakePayer: func() { o.woken++ }, TellWithdrawn: func(id string) { o.ended = append(o.ended, id) },
		Log: paytest.Quiet,
	})
	return o
}

// call sends a request, and returns the order of the answer, if it is one.
func (o *office) call(who, method, path, body string, want int) openapi.Approval {
	o.t.Helper()
	w := ask(o.api, who, method, path, body)
	var a openapi.Approval
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != want {
		o.t.Errorf("%s: %s %s: %d %s, want %d (%v)", who, method, path, w.Code, w.Body, want, err)
	}
	return a
}

// TestTheSecondPersonNeedsTheRight to the operation itself, and not only to approvals.
func TestTheSecondPersonNeedsTheRight(t *testing.T) {
	t.Parallel()
	o := newOffice(t, 0)
	asked := o.call("ann", "POST", "/sponsors/acme/deposits", `{"amount":5,"reference":"r"}`, http.StatusAccepted)
	a := newAPI(Options{Approvals: o.b.Approvals, Audit: &o.notes, Log: paytest.Quiet})
	for need, want := range map[right]bool{paying: false, judging: false, depositing: true} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.SetPathValue("id", asked.Approval)
		q, _ := by(caller{name: "eve", rights: []right{approving, need}}, r)
		_, err := a.decides(q, false)
		if (err == nil) != want {
			t.Errorf("with the right to %s: %v", need, err)
		}
	}
	if last := o.notes.records[len(o.notes.records)-1]; last.Action != "refused" || last.Actor != "eve" {
		t.Errorf("%+v", last)
	}
}

// twoPeopleLimit is above which amount the matrix takes two people.
const twoPeopleLimit rain.Money = 100

// twoPeopleDeed is something that takes two people above the limit.
type twoPeopleDeed struct {
	act        ledger.Act
	path, body string
	// prepare makes the operation's subject, with an amount.
	prepare func(t *testing.T, b *paytest.Books, amount rain.Money)
	// moved returns the amount that the operation has moved; 0 before it.
	moved func(t *testing.T, b *paytest.Books, amount rain.Money) rain.Money
}

// silent makes a withdrawal without an answer from its receiver: it waits for a person.
func silent(t *testing.T, b *paytest.Books, amount rain.Money) {
	t.Helper()
	b.Rich(t, "u1", amount)
	b.MustWithdraw(t, "w1", "u1", amount)
	testenv.Must(t, b.RecordDead(t.Context(), b.LeaseOne(t), "silence"))
}

// refused is a win that the database has refused for a while: a retry pays it.
func refused(t *testing.T, b *paytest.Books, amount rain.Money) {
	t.Helper()
	b.OpenCampaign(t, "c1", rain.Spec{Budget: amount, Packets: 1})
	allow := b.Refuse(t, "u1")
	_, err := b.Attempt(t.Context(), paytest.Entry("c1", 1, paytest.Win("u1", 0, amount)), errors.New("refused"), 1)
	testenv.Must(t, err)
	allow()
}

// forged makes a win under an unknown seal: it is dismissed.
func forged(t *testing.T, b *paytest.Books, amount rain.Money) {
	t.Helper()
	b.OpenCampaign(t, "c1", rain.Spec{Budget: amount, Packets: 1})
	b.MustPost(t, paytest.SealWith(seal.NewRing(seal.Secret{66}), paytest.Entry("c1", 1,
		paytest.Win("thief", 0, amount))))
}

func gotByPlayer(t *testing.T, b *paytest.Books, _ rain.Money) rain.Money {
	t.Helper()
	balance, err := b.UserBalance(t.Context(), "u1")
	testenv.Must(t, err)
	return balance
}

// withdrawn returns the amount if the withdrawal has reached its target state.
func withdrawn(is func(ledger.Withdrawal) bool) func(*testing.T, *paytest.Books, rain.Money) rain.Money {
	return func(t *testing.T, b *paytest.Books, _ rain.Money) rain.Money {
		t.Helper()
		w, err := b.Withdrawal(t.Context(), "w1")
		testenv.Must(t, err)
		if !is(w) {
			return 0
		}
		return w.Amount
	}
}

var twoPeopleDeeds = map[string]twoPeopleDeed{
	"a deposit": {act: ledger.ActDeposit, path: "/sponsors/lotus/deposits", body: `{"amount":%d,"reference":"r"}`,
		prepare: func(*testing.T, *paytest.Books, rain.Money) {},
		moved: func(t *testing.T, b *paytest.Books, _ rain.Money) rain.Money {
			t.Helper()
			balance, err := b.SponsorBalance(t.Context(), "lotus")
			if err != nil && !errors.Is(err, ledger.ErrUnknownSponsor) {
				t.Error(err)
			}
			return balance
		}},
	"a withdrawal's retry": {act: ledger.ActRetry, path: "/payouts/w1/retry", prepare: silent,
		moved: withdrawn(func(w ledger.Withdrawal) bool { return !w.Dead })},
	"a letter's retry": {act: ledger.ActRetry, path: "/payouts/c1-0/retry", prepare: refused, moved: gotByPlayer},
	"a dismissal": {act: ledger.ActDismiss, path: "/payouts/c1-0/dismiss", body: `{"reason":"forged"}`,
		prepare: forged,
		moved: func(t *testing.T, b *paytest.Books, amount rain.Money) rain.Money {
			t.Helper()
			b.WantBalance(t, booking.EscrowAccount("c1"), amount) // it gives nothing away
			return amount * rain.Money(1-b.CountDead(t))
		}},
	"paid": {act: ledger.ActPaid, path: "/withdrawals/w1/paid", body: `{"reason":"seen","reference":"x7"}`,
		prepare: silent, moved: withdrawn(func(w ledger.Withdrawal) bool { return w.State == ledger.WithdrawalPaid })},
	"given back": {act: ledger.ActBack, path: "/withdrawals/w1/back", body: `{"reason":"never paid"}`,
		prepare: silent, moved: gotByPlayer},
}

// TestWhatTakesTwoPeopleTakesTwo plays each operation to its end, over HTTP and on a real ledger. Up to the limit it is
// done at once. Above the limit two people with the right do it, once. A rejected order does nothing.
func TestWhatTakesTwoPeopleTakesTwo(t *testing.T) {
	t.Parallel()
	for act := range rightTo {
		known := act == ledger.ActProvider // a node asks for it: see payout/ledger, TestAnotherReceiverIsConfirmedFirst
		for _, d := range twoPeopleDeeds {
			known = known || d.act == act
		}
		if !known {
			t.Errorf("play %s with two people", act)
		}
	}
	for name, d := range twoPeopleDeeds {
		for way, play := range map[string]func(*twoPeoplePlay){
			"up to the limit": (*twoPeoplePlay).small, "confirmed": (*twoPeoplePlay).confirmed,
			"rejected": (*twoPeoplePlay).rejected,
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				p := &twoPeoplePlay{office: newOffice(t, twoPeopleLimit), d: d}
				play(p)
				p.b.CheckBooks(t)
			})
		}
	}
}

// twoPeoplePlay is one operation with one amount.
type twoPeoplePlay struct {
	*office

	d      twoPeopleDeed
	amount rain.Money
}

func (p *twoPeoplePlay) prepare(amount rain.Money) {
	p.amount = amount
	p.d.prepare(p.t, p.b, amount)
	p.want(0)
}

// ask is the first person's request.
func (p *twoPeoplePlay) ask(who string, want int) openapi.Approval {
	p.t.Helper()
	body := p.d.body
	if strings.Contains(body, "%d") {
		body = fmt.Sprintf(body, p.amount)
	}
	return p.call(who, "POST", p.d.path, body, want)
}

// want fails the test unless the operation was done so many times.
func (p *twoPeoplePlay) want(times int) {
	p.t.Helper()
	testenv.Equal(p.t, p.d.moved(p.t, p.b, p.amount), p.amount*rain.Money(times), "moved of %d", p.amount)
	done := p.b.Count(p.t, "SELECT COUNT(*) FROM audit WHERE action = ?", string(p.d.act))
	testenv.Equal(p.t, done, times, "records of the audit")
	if told := len(p.told) + len(p.ended) + p.woken; times == 0 && told != 0 {
		p.t.Errorf("%d notices of an operation that was not done", told)
	}
}

func (p *twoPeoplePlay) small() {
	p.prepare(twoPeopleLimit)
	want := http.StatusOK
	if p.d.act == ledger.ActDeposit {
		want = http.StatusCreated
	}
	for _, who := range []string{"cyd", "dan"} {
		p.ask(who, http.StatusForbidden)
	}
	p.want(0)
	p.ask("ann", want)
	p.want(1)
}

// order has the first person ask for more than the limit. People without the right are refused.
func (p *twoPeoplePlay) order() (path string) {
	p.t.Helper()
	p.prepare(twoPeopleLimit + 1)
	for _, who := range []string{"cyd", "dan", "shared"} {
		p.ask(who, http.StatusForbidden)
	}
	asked := p.ask("ann", http.StatusAccepted)
	testenv.Equal(p.t, p.ask("ann", http.StatusAccepted), asked, "asked for again")
	if asked.Action != string(p.d.act) || asked.Amount != p.amount || asked.State != "pending" ||
		asked.AskedBy != "ann" || asked.ExpiresAt-asked.AskedAt != 86_400_000 {
		p.t.Errorf("%+v", asked)
	}
	path = "/approvals/" + asked.Approval
	for who, want := range map[string]int{
		"ann": http.StatusConflict, "cyd": http.StatusForbidden, "dan": http.StatusForbidden,
		"shared": http.StatusForbidden, "eve": http.StatusUnauthorized,
	} {
		p.call(who, "POST", path+"/confirm", "", want)
	}
	p.want(0)
	return path
}

func (p *twoPeoplePlay) confirmed() {
	path := p.order()
	codes := map[int]int{}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, who := range []string{"bob", "fay", "bob"} { // all at once
		wg.Go(func() {
			w := ask(p.api, who, "POST", path+"/confirm", "")
			mu.Lock()
			defer mu.Unlock()
			codes[w.Code]++
		})
	}
	wg.Wait()
	if codes[http.StatusOK] != 1 || codes[http.StatusConflict] != 2 {
		p.t.Errorf("confirmed by three at once: %v", codes)
	}
	p.want(1)
	if ended := p.d.act == ledger.ActPaid || p.d.act == ledger.ActBack; (len(p.ended) == 1) != ended {
		p.t.Errorf("%d notices of the end for the player", len(p.ended))
	}
	p.call("fay", "POST", path+"/confirm", "", http.StatusConflict)
	p.call("fay", "POST", path+"/reject", `{"reason":"too late"}`, http.StatusConflict)
	if shown := p.call("cyd", "GET", path, "", http.StatusOK); shown.State != "confirmed" ||
		shown.DecidedBy != "bob" && shown.DecidedBy != "fay" {
		p.t.Errorf("%+v", shown)
	}
	p.want(1)
}

func (p *twoPeoplePlay) rejected() {
	path := p.order()
	p.call("bob", "POST", path+"/confirm", `{"by":"cyd"}`, http.StatusUnprocessableEntity)
	p.call("bob", "POST", path+"/reject", `{}`, http.StatusUnprocessableEntity)
	for _, who := range []string{"cyd", "dan"} {
		p.call(who, "POST", path+"/reject", `{"reason":"no"}`, http.StatusForbidden)
	}
	if done := p.call("bob", "POST", path+"/reject", `{"reason":"no"}`, http.StatusOK); done.State != "rejected" {
		p.t.Errorf("%+v", done)
	}
	p.call("fay", "POST", path+"/confirm", "", http.StatusConflict)
	p.call("bob", "POST", "/approvals/a0/confirm", "", http.StatusNotFound)
	p.call("cyd", "GET", "/approvals?state=done", "", http.StatusUnprocessableEntity)
	p.want(0)
}
