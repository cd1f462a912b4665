package risk

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// The three verdicts at the three moments of a request, and the record after each.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		said         standing.VerdictAct
		guest, hello error
		onRecord     standing.VerdictAct
		hold         string
		withdraw     error
	}{
		{standing.Allow, nil, nil, "", "", nil},
		{standing.Hold, nil, nil, standing.Hold, "a mule; a new device", nil},
		{standing.Deny, standing.ErrDenied, standing.ErrDenied, standing.Deny, "", standing.ErrDenied},
	} {
		r := open(t, says(`{"verdict":"`+string(c.said)+`","score":80,"reasons":["a mule","a new device"],"x":1}`), nil)
		who := Caller{User: "u", Campaign: "c", Address: "192.0.2.1", Session: "s", Issued: 7}
		if err := r.Hello(t.Context(), who); !errors.Is(err, c.hello) {
			t.Errorf("%s at hello: %v", c.said, err)
		}
		if q := <-r.asked; q.Moment != MomentHello || q.Caller != who || q.At == 0 || q.Money != nil || q.Rules != nil {
			t.Errorf("%+v", q)
		}
		v, _ := r.book.newest("u")
		if v.Act != c.onRecord || v.Held() && (v.By != ledger.ByService || v.Score != 80 ||
			len(standing.ParseReasons(v.Reasons)) != 2 || standing.ParseReasons(v.Reasons)[0].Sentence != "a mule") {
			t.Errorf("%s at hello: on record is %+v", c.said, v)
		}
		if err := r.Guest(t.Context(), Caller{User: "guest-1"}); !errors.Is(err, c.guest) {
			t.Errorf("%s of a guest: %v", c.said, err)
		}
		if v := r.book.act("guest-1"); v == standing.Deny { // who does not exist is not on record
			t.Errorf("%s of a guest: on record is %s", c.said, v)
		}
		first := <-r.asked
		money := Money{Withdrawal: "w1", Amount: 250}
		hold, err := r.Withdrawal(t.Context(), Caller{User: "w"}, money)
		if hold != c.hold || !errors.Is(err, c.withdraw) {
			t.Errorf("%s of a withdrawal: %q, %v", c.said, hold, err)
		}
		if q := <-r.asked; q.Money == nil || *q.Money != money || q.ID == first.ID {
			t.Errorf("%+v after %+v", q, first)
		}
		if v := r.book.act("w"); v != "" {
			t.Errorf("an answer about money is on record about the player: %s", v)
		}
	}
}

// With --risk watch each request is sent and recorded, and no player is refused. The same holds if the ledger is away.
func TestWatch(t *testing.T) {
	r := open(t, says(`{"verdict":"deny"}`), func(o *SystemOptions) { o.CarryOut, o.Known = false, nil })
	for range 2 {
		if err := r.Hello(t.Context(), Caller{User: "u"}); err != nil {
			t.Error(err)
		}
		if err := r.Guest(t.Context(), Caller{User: "g"}); err != nil {
			t.Error(err)
		}
		if hold, err := r.Withdrawal(t.Context(), Caller{User: "u"}, Money{}); err != nil || hold != "" {
			t.Error(hold, err)
		}
		if r.book.act("u") != standing.Deny {
			t.Error("nothing is on record")
		}
		r.book.fails = errors.New("the database is down")
	}
}

// A person's verdict has priority: a released player causes no request. An answer at hello does not release a hold of
// the rules. It ends a hold for a missing answer.
func TestWhoseWordCounts(t *testing.T) {
	r := open(t, says(`{"verdict":"allow"}`), nil)
	hello := func(user string) {
		t.Helper()
		if err := r.Hello(t.Context(), Caller{User: user}); err != nil {
			t.Error(err)
		}
	}
	r.book.of["released"] = standing.Verdict{User: "released", Act: standing.Allow, By: "operator:ann"}
	hello("released")
	if len(r.asked) != 0 {
		t.Error("asked about a player whom a person has released")
	}
	r.book.of["bot"] = standing.Verdict{User: "bot", Act: standing.Hold, Score: 70, By: ledger.ByRules}
	hello("bot")
	if r.book.act("bot") != standing.Hold {
		t.Error("an answer at hello undoes what the rules hold")
	}
	r.o.Default = standing.Hold
	r.client.timeout = 0
	hello("late")
	v, _ := r.book.newest("late")
	if v.Act != standing.Hold || standing.ParseReasons(v.Reasons)[0].Rule != RuleNoAnswer {
		t.Errorf("%+v", v)
	}
	writes := r.book.given
	hello("late")
	if r.book.given != writes {
		t.Error("the same is written again")
	}
	r.client.timeout = 2 * time.Second
	hello("late")
	if r.book.act("late") != standing.Allow {
		t.Error("the answer does not undo that there was none")
	}
}

// The system's answer replaces that of the rules. Without an answer the rules count.
func TestHold(t *testing.T) {
	suspect := func(user string) Suspect {
		return Suspect{Caller: Caller{User: user, Address: "192.0.2.1", Session: "s", Campaign: "c"},
			Judgement: Judgement{Act: standing.Hold, Score: 70,
				Reasons: []standing.Reason{{Rule: "fast_hands", Score: 70, Sentence: "12 of 12"}}}}
	}
	r := open(t, says(`{"verdict":"deny","score":99,"reasons":["known"]}`), nil)
	answers := r.Hold(t.Context(), []Suspect{suspect("a"), suspect("b")})
	v := answers["a"]
	reasons := standing.ParseReasons(v.Reasons)
	if len(answers) != 2 || v.Act != standing.Deny || v.Score != 99 || len(reasons) != 2 ||
		reasons[1].Rule != "fast_hands" {
		t.Errorf("%+v", answers)
	}
	if q := <-r.asked; q.Rules == nil || q.Rules.Score != 70 || q.Rules.Reasons[0].Rule != "fast_hands" ||
		q.Campaign != "c" || q.Session != "s" {
		t.Errorf("%+v", q)
	}
	for _, act := range []standing.VerdictAct{standing.Allow, standing.Deny} {
		hang := func(_ http.ResponseWriter, hr *http.Request) { <-hr.Context().Done() }
		never := open(t, hang, func(o *SystemOptions) { o.Default, o.Timeout = act, 50*time.Millisecond })
		many := make([]Suspect, 1000)
		for i := range many {
			many[i] = suspect("u")
		}
		began := time.Now()
		if got := never.Hold(t.Context(), many); len(got) != 0 {
			t.Errorf("an answer out of nothing: %+v", got)
		}
		if took := time.Since(began); took > 20*time.Second { // one after the other: 50 s
			t.Errorf("a thousand suspects took %s", took)
		}
		if never.counted(t, MomentHold, outcomeLate) == 0 {
			t.Error("no request was late")
		}
	}
}

// An invalid answer counts as none, and the default applies.
func TestNoAnswer(t *testing.T) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	elsewhere := httptest.NewServer(says(`{"verdict":"allow"}`))
	t.Cleanup(elsewhere.Close)
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		counted string
	}{
		"never":     {func(_ http.ResponseWriter, hr *http.Request) { <-hr.Context().Done() }, outcomeLate},
		"half":      {half(stop), outcomeLate},
		"cut off":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, outcomeUnreachable},
		"huge":      {says(`{"verdict":"allow"}` + strings.Repeat(" ", 1<<20)), outcomeInvalid},
		"twice":     {says(`{"verdict":"allow"}{"verdict":"allow"}`), outcomeInvalid},
		"malformed": {says(`{"verdict":"allow"`), outcomeInvalid},
		"a list":    {says(`["allow"]`), outcomeInvalid},
		"null":      {says(`null`), outcomeInvalid},
		"another":   {says(`{"verdict":"maybe"}`), outcomeInvalid},
		"below 0":   {says(`{"verdict":"allow","score":-1}`), outcomeInvalid},
		"no number": {says(`{"verdict":"allow","score":"9"}`), outcomeInvalid},
		"many":      {says(`{"verdict":"allow","reasons":["a","a","a","a","a","a","a","a","a"]}`), outcomeInvalid},
		"long":      {says(`{"verdict":"allow","reasons":["` + strings.Repeat("x", 201) + `"]}`), outcomeInvalid},
		"no text":   {says(`{"verdict":"allow","reasons":["a\u0000b"]}`), outcomeInvalid},
		"500":       {status(http.StatusInternalServerError, `{"verdict":"allow"}`), outcomeInvalid},
		"204":       {status(http.StatusNoContent, ``), outcomeInvalid},
		"redirect": {func(w http.ResponseWriter, hr *http.Request) {
			http.Redirect(w, hr, elsewhere.URL, http.StatusTemporaryRedirect)
		}, outcomeInvalid},
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`{"verdict":"allow"}`))
		}, outcomeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range []struct {
				act  standing.VerdictAct
				err  error
				held string
				rec  standing.VerdictAct
			}{
				{standing.Allow, nil, "", ""}, {standing.Hold, nil, "the risk system did not answer", standing.Hold},
				{standing.Deny, ErrNoAnswer, "", ""},
			} {
				r := open(t, c.answer, func(o *SystemOptions) {
					o.Default = d.act
					if c.counted == outcomeLate {
						o.Timeout = 50 * time.Millisecond
					}
				})
				if err := r.Hello(t.Context(), Caller{User: "u"}); !errors.Is(err, d.err) || r.book.act("u") != d.rec {
					t.Errorf("%s at hello: %v, on record %q", d.act, err, r.book.act("u"))
				}
				if err := r.Guest(t.Context(), Caller{User: "g"}); !errors.Is(err, d.err) || r.book.act("g") != d.rec {
					t.Errorf("%s of a guest: %v, on record %q", d.act, err, r.book.act("g"))
				}
				hold, err := r.Withdrawal(t.Context(), Caller{User: "u"}, Money{})
				if hold != d.held || !errors.Is(err, d.err) {
					t.Errorf("%s of a withdrawal: %q, %v", d.act, hold, err)
				}
				if n := r.counted(t, MomentHello, c.counted); n != 1 {
					t.Errorf("%d hellos are counted as %s", n, c.counted)
				}
			}
		})
	}
}

// half begins an answer and does not end it.
func half(stop chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, hr *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"verdict":`))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-stop:
		case <-hr.Context().Done():
		}
	}
}

// A player who has gone meanwhile is no failure of the system's, and waits for nothing.
func TestWhoAsksIsGone(t *testing.T) {
	r := open(t, func(_ http.ResponseWriter, hr *http.Request) { <-hr.Context().Done() },
		func(o *SystemOptions) { o.Default, o.Timeout = standing.Deny, time.Second })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	testenv.WantErr(t, r.Guest(ctx, Caller{User: "g"}), context.Canceled)
	testenv.WantErr(t, testenv.Err(r.client.ask(ctx, Request{Moment: MomentGuest})), context.Canceled)
	if n := r.counted(t, MomentGuest, outcomeLate) + r.counted(t, MomentGuest, outcomeUnreachable); n != 0 {
		t.Errorf("%d are counted", n)
	}
}

// A panic in a question ends only the question: singleflight would end the process.
func TestAQuestionThatPanics(t *testing.T) {
	r := open(t, says(`{"verdict":"allow"}`), nil)
	clock := r.o.Clock
	for _, c := range []struct {
		clock rain.Clock
		want  error
	}{{func() int64 { panic("at the disco") }, loop.ErrPanic}, {clock, nil}} {
		r.o.Clock = c.clock
		testenv.WantErr(t, testenv.Err(r.ask(t.Context(), MomentHello, Caller{User: "u"}, nil)), c.want)
	}
}
