package risk

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"redrain/internal/loop"
	"redrain/internal/signed"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// ErrNoAnswer means that the system does not answer and --risk-default is deny. It is no verdict about the player, who
// may come back.
var ErrNoAnswer = errors.New("players cannot be checked just now; try again shortly")

// SystemOptions are the options of a System. All are required unless stated otherwise.
type SystemOptions struct {
	URL, Secret string
	NewSecret   func() string // returns the newest Secret; nil: it never changes
	Timeout     time.Duration
	Default     standing.VerdictAct // the verdict without an answer; the rules' own verdict holds in any case
	CarryOut    bool                // false: answers are stored and not applied
	Verdicts    Verdicts
	// Known returns the newest cached verdict about a player; nil: none is cached.
	Known      func(user string) (standing.Verdict, bool)
	Told       func()               // called after each new verdict
	Alarm      func(message string) // called when the system does not answer
	Recoverer  *loop.Recoverer      // nil: panics are logged only
	Clock      rain.Clock
	Log        *slog.Logger
	Registerer prometheus.Registerer
	TLS        *tls.Config // for tests; nil: the system's authorities
}

// System is the client of the operator's risk system. A request in flight has a goroutine, until its time-out at most.
type System struct {
	o       SystemOptions
	client  *systemClient
	joined  singleflight.Group // requests in flight, by content
	records *records
}

// NewSystem returns a System. It sends nothing.
func NewSystem(o SystemOptions) (*System, error) {
	sender, err := signed.NewSender(signed.SenderOptions{URL: o.URL, Secret: o.Secret, NewSecret: o.NewSecret,
		Clock: o.Clock, Most: maxAnswer, Idle: atOnce, TLS: o.TLS})
	if err != nil {
		return nil, err
	}
	if o.Known == nil {
		o.Known = func(string) (standing.Verdict, bool) { return standing.Verdict{}, false }
	}
	return &System{o: o, records: newRecords(o.Verdicts, o.Told, o.Recoverer),
		client: &systemClient{sender: sender, timeout: o.Timeout, places: make(chan struct{}, atOnce),
			state: newSystemState(o)}}, nil
}

// Close closes idle connections.
func (s *System) Close() { s.client.sender.Close() }

// ask asks about a player. Equal requests at one time are sent once, so a player with many new connections causes one.
// A request goes on until its time-out, even if all callers have left.
func (s *System) ask(ctx context.Context, m Moment, who Caller, money *Money) (Answer, error) {
	q := Request{Moment: m, Caller: who, Money: money}
	key, err := json.Marshal(q)
	if err != nil {
		return Answer{}, err
	}
	answered := s.joined.DoChan(string(key), func() (any, error) {
		var answer Answer
		err := s.o.Recoverer.Try("risk_url", func() (err error) {
			q.At = s.o.Clock()
			answer, err = s.client.ask(context.WithoutCancel(ctx), q)
			return err
		})
		return answer, err
	})
	select {
	case a := <-answered:
		return a.Val.(Answer), a.Err //nolint:forcetypeassert // see above
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// Guest asks about a guest before the creation. It returns nil, standing.ErrDenied, ErrNoAnswer, or the error of
// storing the verdict. A denied guest does not exist, so no verdict is stored.
func (s *System) Guest(ctx context.Context, who Caller) error {
	return s.enters(ctx, MomentGuest, who, func(standing.Verdict) error { return nil })
}

// Hello asks about a player whom all other checks have admitted. Its errors are those of Guest. It does not ask about a
// player whom an operator has released.
func (s *System) Hello(ctx context.Context, who Caller) error {
	if s.trusted(who.User) {
		return nil
	}
	return s.enters(ctx, MomentHello, who, func(v standing.Verdict) error { return s.write(ctx, v) })
}

// enters asks about a new connection. It calls denied to store a denial.
func (s *System) enters(ctx context.Context, m Moment, who Caller, denied func(standing.Verdict) error) error {
	answer, err := s.ask(ctx, m, who, nil)
	if err != nil {
		return s.enterAnyway(ctx, who.User)
	}
	v := answer.verdictOn(who.User, nil)
	switch answer.Verdict {
	case standing.Hold:
		return s.write(ctx, v)
	case standing.Deny:
		if err := denied(v); err != nil {
			s.o.Log.Warn("store the denial of a player, who was turned away", "user", who.User, "err", err)
		}
		if s.o.CarryOut {
			return standing.ErrDenied
		}
	default:
		// A person ends verdicts of the system and of the rules. An answer ends only a verdict for a missing answer.
		if known, found := s.o.Known(who.User); found && onlyUnanswered(known) {
			return s.write(ctx, v)
		}
	}
	return nil
}

// enterAnyway applies --risk-default, because there is no answer.
func (s *System) enterAnyway(ctx context.Context, user string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !s.o.CarryOut || s.o.Default == standing.Allow:
		return nil
	case s.o.Default == standing.Deny:
		return ErrNoAnswer
	}
	reasons := standing.EncodeReasons([]standing.Reason{
		{Rule: RuleNoAnswer, Sentence: "the risk system did not answer when the player came in"},
	})
	return s.write(ctx, standing.Verdict{User: user, Act: standing.Hold, Reasons: reasons})
}

// write stores a verdict, unless the newest one is equal. If verdicts are not applied, it only logs an error of the
// ledger.
func (s *System) write(ctx context.Context, v standing.Verdict) error {
	known, found := s.o.Known(v.User)
	same := known.Act == v.Act && known.Score >= v.Score && !onlyUnanswered(known)
	if found && v.Held() && known.Held() && (same || onlyUnanswered(v)) {
		return nil
	}
	err := s.records.write(ctx, v)
	if err != nil && !s.o.CarryOut {
		s.o.Log.Warn("store a verdict of the risk system", "user", v.User, "err", err)
		return nil
	}
	return err
}

// trusted reports whether an operator has released a player.
func (s *System) trusted(user string) bool {
	known, found := s.o.Known(user)
	return found && known.Act == standing.Allow && known.By != ledger.ByRules && known.By != ledger.ByService
}

// onlyUnanswered reports whether the only reason against a player is a missing answer of the system.
func onlyUnanswered(v standing.Verdict) bool {
	if v.Act != standing.Hold || v.Score != 0 {
		return false
	}
	reasons := standing.ParseReasons(v.Reasons)
	return len(reasons) == 1 && reasons[0].Rule == RuleNoAnswer
}

// Hold asks about players with a verdict of the rules, all within the time-out. An answer overrides the rules. If a
// player is missing in the result, there is no answer, and the rules' verdict holds.
func (s *System) Hold(ctx context.Context, suspects []Suspect) map[string]standing.Verdict {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	var (
		mu      sync.Mutex
		answers = map[string]standing.Verdict{}
		wg      sync.WaitGroup
		todo    = make(chan Suspect)
	)
	for range min(len(suspects), atOnce) {
		wg.Go(func() {
			for one := range todo {
				rules := Opinion{Verdict: one.Act, Score: one.Score, Reasons: one.Reasons}
				answer, err := s.client.ask(ctx, Request{Moment: MomentHold, At: s.o.Clock(),
					Caller: one.Caller, Rules: &rules})
				if err != nil {
					continue
				}
				mu.Lock()
				answers[one.User] = answer.verdictOn(one.User, &rules)
				mu.Unlock()
			}
		})
	}
	for _, one := range suspects {
		if ctx.Err() != nil {
			break
		}
		if !s.trusted(one.User) {
			todo <- one
		}
	}
	close(todo)
	wg.Wait()
	return answers
}

// Withdrawal asks about a withdrawal before it is paid. It returns the reason to hold it, or "" to pay it. With
// standing.ErrDenied or ErrNoAnswer it is refused. The answer is about the money, not about the player.
func (s *System) Withdrawal(ctx context.Context, who Caller, money Money) (hold string, err error) {
	answer, err := s.ask(ctx, MomentWithdrawal, who, &money)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && s.o.CarryOut && s.o.Default == standing.Deny:
		return "", ErrNoAnswer
	case err != nil && s.o.CarryOut && s.o.Default == standing.Hold:
		return "the risk system did not answer", nil
	case err != nil:
		return "", nil //nolint:nilerr // allowed without an answer
	}
	if answer.Verdict != standing.Allow {
		s.o.Log.InfoContext(ctx, "the risk system speaks against a withdrawal", "withdrawal", money.Withdrawal, "user",
			who.User, "verdict", string(answer.Verdict), "score", answer.Score, "reasons", answer.Reasons, "done",
			s.o.CarryOut)
	}
	switch {
	case !s.o.CarryOut || answer.Verdict == standing.Allow:
		return "", nil
	case answer.Verdict == standing.Deny:
		return "", standing.ErrDenied
	case len(answer.Reasons) == 0:
		return "the risk system gave no reason", nil
	}
	return strings.Join(answer.Reasons, "; "), nil
}
