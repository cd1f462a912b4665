package api

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab/confirm"
	"redrain/internal/auth"
	"redrain/internal/loop"
	"redrain/internal/openapi"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/payout/ledger/standing"
	"redrain/payout/reconcile"
	"redrain/payout/statement"
	"redrain/rain"
	"redrain/server/campaigns"
	"redrain/server/history"
	"redrain/server/live"
	"redrain/server/login"
)

// Operators knows operators by their tokens. [auth.Operators] does.
type Operators interface {
	Operator(ctx context.Context, bearer string) (auth.Operator, error) // auth.ErrNoOperator
}

// Stats gathers a campaign's figures over all nodes. [live.Figures] does.
type Stats interface {
	Stats(ctx context.Context, c *rain.Campaign) (live.Stats, error)
}

// claimList is the claims that the ledger has.
type claimList interface {
	ListClaims(ctx context.Context, q ledger.ClaimQuery) (list []ledger.Claim, next string, err error)
	DroppedAt(ctx context.Context, campaign string) (at int64, err error)
	ClaimsOn(ctx context.Context, campaign string, packets []int) ([]ledger.Claim, error)
	ClaimStates(ctx context.Context, user string, claims []string) (map[string]ledger.ClaimState, error)
	EachClaim(ctx context.Context, campaign string, only ledger.ClaimFilter, yield func(ledger.Claim) error) error
	UserBalance(ctx context.Context, user string) (rain.Money, error)
}

// Outbox is where wins wait until the ledger has them.
type Outbox interface {
	// Waiting is up to limit entries of each shard, the oldest first.
	Waiting(ctx context.Context, c *rain.Campaign, limit int) ([]rain.Entry, error)
}

// Players signs and checks players' tokens. [auth.Players] does.
type Players interface {
	Verify(ctx context.Context, token string) (user string, err error)
	Grant(ctx context.Context, token string) (auth.Grant, error)
	MintFor(who auth.Persona, ttl time.Duration) (token string, expires time.Time, err error)
	Mint(user string, ttl time.Duration) (token string, expires time.Time, err error)
}

// Wins tells what a player has won of a campaign.
type Wins interface {
	PlayersWins(ctx context.Context, c *rain.Campaign, user string) (confirm.PlayersWins, error)
}

// Seals makes a new key for the seals. [posting.Seals] does.
type Seals interface {
	Rotate(ctx context.Context) (number int64, err error) // posting.ErrRotatedJustNow
}

// Limits tells whether one more of what is limited by key is allowed, and if not, after which time it will be.
type Limits interface {
	Allow(ctx context.Context, name, key string, rate, burst float64) (ok bool, after time.Duration, err error)
}

// withdrawalList is players' withdrawals.
type withdrawalList interface {
	Withdraw(
		ctx context.Context,
		id, user string,
		amount rain.Money,
	) (w ledger.Withdrawal, balance rain.Money, err error)
	WithdrawHeld(ctx context.Context, id, user string, amount rain.Money, why string) (w ledger.Withdrawal,
		balance rain.Money, err error)
	Withdrawal(ctx context.Context, id string) (ledger.Withdrawal, error) // ledger.ErrUnknownWithdrawal
	Hold(ctx context.Context, id string, by ledger.Person) error
	Release(ctx context.Context, id string, by ledger.Person) error
	PendingOrders(ctx context.Context, of ...ledger.Withdrawal) (map[string]ledger.Approval, error)
	WithdrawalHistory(ctx context.Context, id string) ([]ledger.WithdrawalEvent, error)
	ListWithdrawals(ctx context.Context, q ledger.WithdrawalQuery) (list []ledger.Withdrawal, next string, err error)
}

// deadLetterList is what waits for a person.
type deadLetterList interface {
	ListDeadLetters(ctx context.Context, cursor string, limit int) (list []posting.DeadLetter, next string, err error)
}

// approvals does what may need two people. [ledger.Approvals] is that.
type approvals interface {
	Do(ctx context.Context, d ledger.Deed, by ledger.Person) (ledger.Outcome, error)
	Confirm(ctx context.Context, id string, by ledger.Person) (ledger.Approval, ledger.Outcome, error)
	Reject(ctx context.Context, id string, by ledger.Person) (ledger.Approval, error)
	Approval(ctx context.Context, id string) (ledger.Approval, error) // ledger.ErrUnknownApproval
	ListApprovals(ctx context.Context, state ledger.ApprovalState, cursor string,
		limit int) (list []ledger.Approval, next string, err error)
	RetryAll(ctx context.Context, campaign string, tell func([]posting.Settlement)) (ledger.Redriven, error)
}

// Notifier tells players of what a retry has settled. [cluster.Notifier] does.
type Notifier interface {
	Retried(ctx context.Context, settled []posting.Settlement)
}

// auditRecords is who did what.
type auditRecords interface {
	Audit(ctx context.Context, r ledger.AuditRecord) error
	ListAudit(ctx context.Context, cursor string, limit int) (list []ledger.AuditRecord, next string, err error)
	ListAuditOf(ctx context.Context, target, cursor string, limit int) (list []ledger.AuditRecord, next string,
		err error)
}

// Proofs proves that the books balance. [campaigns.Proofs] does.
type Proofs interface {
	Campaign(ctx context.Context, id string) (reconcile.Reconciliation, error)
	Full(ctx context.Context, progress func(reconcile.Progress)) (reconcile.Books, error)
	Proved() *campaigns.Proved // when the books were proved last; nil where this node does not know
}

// answers remembers what was answered under an idempotency key.
type answers interface {
	// Begin takes a key for a request, or returns the answer that was given under it.
	Begin(ctx context.Context, key string, body []byte) (first *ledger.Answer, err error)
	Finish(ctx context.Context, key string, a ledger.Answer) error
	Forget(ctx context.Context, key string) error
}

// Known is the campaigns that this node knows. [cluster.Known] is that.
type Known interface {
	Cached(id string) *rain.Campaign // nil where this node does not know it
	Live() []*rain.Campaign          // those that are not drained
}

// API is the HTTP surface under Root.
type API struct {
	o Options

	previews previews
	refusals refusals
	overflow overflow
	local    localLimits
	guests   *prometheus.CounterVec
	logins   *prometheus.CounterVec

	importing sync.Mutex // held by the one import of this process: it has all that it imports in memory
}

// Campaigns finds campaigns. [cluster.Registry] does.
type Campaigns interface {
	Known
	Get(ctx context.Context, id string) (*rain.Campaign, error) // posting.ErrUnknownCampaign where there is none
}

// Options of an API. All are needed but those that say so.
type Options struct {
	Commands  *campaigns.Service
	Rebuilder *campaigns.Rebuilder
	Proofs    Proofs
	Door      Door

	// The parts of the ledger.
	Answers     answers
	Approvals   approvals
	Audit       auditRecords
	Roots       *chain.Roots
	Statements  statement.Ledger
	Claims      claimList
	DeadLetters deadLetterList
	Failing     *posting.Poster
	History     *ledger.Campaigns
	Sponsors    *ledger.Sponsors
	Withdrawals withdrawalList
	Seals       Seals
	Exports     exports
	Sanctions   *ledger.Sanctions
	Held        *ledger.Risk
	Lists       *ledger.Lists
	PlayerList  *ledger.Players

	Connections Connections

	Wins      Wins
	Outbox    Outbox
	Limits    Limits // nil: nothing is limited
	Campaigns Campaigns
	Stats     Stats
	Figures   *history.Table
	Events    *Events
	Notifier  Notifier
	Players   Players
	Operators Operators
	// Logins are the codes that sign players in.
	Logins *login.Codes
	// Banned tells whether a player is banned, as far as this node knows; nil: nobody is.
	Banned func(user string) bool
	// Name is what a player is called, "" where nobody knows; nil: players have no names.
	Name   func(ctx context.Context, user string) string
	SignIn *SignIn // nil: operators have no identity provider
	// Demo is the campaign that a newcomer plays, "" for none. Nil: there is never one.
	Demo func() string
	// WakePayer is called when a withdrawal waits to be paid.
	WakePayer func()
	// TellSanction carries out on this node what was done about a player, and has the others do so. When it returns, it
	// holds for all that comes.
	TellSanction func(ctx context.Context, one standing.Sanction)
	// TellLists has all nodes go by a list that has changed at a time. When it returns, the change holds for all that
	// comes.
	TellLists func(ctx context.Context, changedAt int64)
	// MayPlay tells whether somebody may take part in a campaign, nil for any: standing.ErrNotInvited,
	// standing.ErrDenied, or why that cannot be told. user is empty for who is to become a guest. nil: everybody may.
	MayPlay func(ctx context.Context, c *rain.Campaign, user, address string) error
	// RiskSystem is asked about guests and withdrawals. nil: nobody is.
	RiskSystem RiskSystem
	// Judged is called when there is a new verdict about a player; nil: nobody is to know.
	Judged func()
	// TellWithdrawn tells the player of a withdrawal what has become of it.
	TellWithdrawn func(id string)
	// JoinURL is where phones find the server: at its public address, or in the same network; "" for nowhere.
	JoinURL   func() string
	Version   string // of this build
	InProcess bool   // without real back ends: a trial, which may forget everything
	Guests    bool   // anyone may play under a generated name
	// Challenge is what a guest has to do first. Nil: nothing.
	Challenge Challenge
	// AllowedOrigins are the web origins whose pages may read what is for players and for everybody; "*": all.
	AllowedOrigins []string
	Payout         openapi.Payout // where withdrawals go, as players are told
	GuestRate      float64        // new guests per second and address; 0: no limit
	GuestsPerDay   int            // and in a day; 0: no limit
	// of which addresses that is not asked; nil: of all
	Unbounded func(address string) bool
	Recoverer *loop.Recoverer // nil: panics are logged only
	Clock     rain.Clock
	Log       *slog.Logger
	// Registerer gets the metrics; nil: nobody does.
	Registerer prometheus.Registerer
}

type noLimits struct{}

func (noLimits) Allow(context.Context, string, string, float64, float64) (bool, time.Duration, error) {
	return true, 0, nil
}

// New makes the API. It has no goroutine but those of its requests.
func New(o Options) *API {
	if o.Demo == nil {
		o.Demo = func() string { return "" }
	}
	if o.MayPlay == nil {
		o.MayPlay = func(context.Context, *rain.Campaign, string, string) error { return nil }
	}
	if o.Judged == nil {
		o.Judged = func() {}
	}
	if o.Limits == nil {
		o.Limits = noLimits{}
	}
	return &API{o: o, previews: newPreviews(), refusals: newRefusals(o.Registerer),
		guests: newGuestCounts(o.Registerer), logins: newLoginCounts(o.Registerer)}
}
