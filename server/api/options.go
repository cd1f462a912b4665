package api

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"redrain/client/openapi"
	"redrain/grab/confirm"
	"redrain/internal/auth"
	"redrain/internal/loop"
	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/payout/ledger/standing"
	"redrain/payout/reconcile"
	"redrain/payout/statement"
	"redrain/rain"
	"redrain/server/campaigns"
	"redrain/server/history"
	"redrain/server/login"
)

// Operators authenticates operators. [auth.Operators] implements it.
type Operators interface {
	Operator(ctx context.Context, bearer string) (auth.Operator, error) // auth.ErrNoOperator
}

// claimList reads the claims in the ledger.
type claimList interface {
	ListClaims(ctx context.Context, q ledger.ClaimQuery) (list []ledger.Claim, next string, err error)
	RemovedAt(ctx context.Context, campaign string) (at int64, err error)
	ClaimsOn(ctx context.Context, campaign string, packets []int) ([]ledger.Claim, error)
	ClaimStates(ctx context.Context, user string, claims []string) (map[string]ledger.ClaimState, error)
	EachClaim(ctx context.Context, campaign string, only ledger.ClaimFilter, yield func(ledger.Claim) error) error
	UserBalance(ctx context.Context, user string) (rain.Money, error)
}

// Outbox reads the entries that are not in the ledger yet.
type Outbox interface {
	// Waiting returns up to limit entries of each shard, the oldest first.
	Waiting(ctx context.Context, c *rain.Campaign, limit int) ([]rain.Entry, error)
}

// Players signs and verifies players' tokens. [auth.Players] implements it.
type Players interface {
	Grant(ctx context.Context, token string) (auth.Grant, error)
	Mint(who auth.Persona, ttl time.Duration) (token string, expires time.Time, err error)
}

// Wins reads a player's wins of a campaign.
type Wins interface {
	PlayersWins(ctx context.Context, c *rain.Campaign, user string) (confirm.PlayersWins, error)
}

// Seals creates keys for the seals. [posting.Seals] implements it.
type Seals interface {
	Rotate(ctx context.Context) (number int64, err error) // posting.ErrRotatedJustNow
}

// Limits reports whether a limit by key allows one more, and if not, after which time it will.
type Limits interface {
	Allow(ctx context.Context, name, key string, rate, burst float64) (ok bool, after time.Duration, err error)
}

// withdrawalList reads and changes players' withdrawals.
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
	Recheck(ctx context.Context, id, receiver string) error
	PendingOrders(ctx context.Context, of ...ledger.Withdrawal) (map[string]ledger.Approval, error)
	WithdrawalHistory(ctx context.Context, id string) ([]ledger.WithdrawalEvent, error)
	ListWithdrawals(ctx context.Context, q ledger.WithdrawalQuery) (list []ledger.Withdrawal, next string, err error)
}

// payeeLinks reads and links players' accounts at payment providers. [ledger.Payees] implements it.
type payeeLinks interface {
	Link(ctx context.Context, user string, claim map[string]string, issuedAt int64) error // rain.Invalid
	Of(ctx context.Context, user string) ([]ledger.Payee, error)
}

// deadLetterList reads, retries and dismisses dead letters.
type deadLetterList interface {
	ListDeadLetters(ctx context.Context, cursor string, limit int) (list []posting.DeadLetter, next string, err error)
}

// approvals executes acts that may need two people. [ledger.Approvals] implements it.
type approvals interface {
	Do(ctx context.Context, d ledger.Deed, by ledger.Person) (ledger.Outcome, error)
	Confirm(ctx context.Context, id string, by ledger.Person) (ledger.Approval, ledger.Outcome, error)
	Reject(ctx context.Context, id string, by ledger.Person) (ledger.Approval, error)
	Approval(ctx context.Context, id string) (ledger.Approval, error) // ledger.ErrUnknownApproval
	ListApprovals(ctx context.Context, state ledger.ApprovalState, cursor string,
		limit int) (list []ledger.Approval, next string, err error)
	RetryAll(ctx context.Context, campaign string, tell func([]posting.Settlement)) (ledger.Redriven, error)
}

// Notifier notifies players of claims that a retry has settled. [cluster.Notifier] implements it.
type Notifier interface {
	Retried(ctx context.Context, settled []posting.Settlement)
}

// auditRecords reads and writes the audit.
type auditRecords interface {
	Audit(ctx context.Context, r ledger.AuditRecord) error
	ListAudit(ctx context.Context, cursor string, limit int) (list []ledger.AuditRecord, next string, err error)
	ListAuditOf(ctx context.Context, target, cursor string, limit int) (list []ledger.AuditRecord, next string,
		err error)
}

// Proofs reconciles the books. [campaigns.Proofs] implements it.
type Proofs interface {
	Campaign(ctx context.Context, id string) (reconcile.Reconciliation, error)
	Full(ctx context.Context, progress func(reconcile.Progress)) (reconcile.Books, error)
	Proved() *campaigns.Proved // the last reconciliations; nil if this node does not know them
}

// answers stores the answers of idempotency keys.
type answers interface {
	// Begin takes a key for a request, or returns the key's answer.
	Begin(ctx context.Context, key string, body []byte) (first *ledger.Answer, err error)
	Finish(ctx context.Context, key string, a ledger.Answer) error
	Forget(ctx context.Context, key string) error
}

// Known holds the campaigns that this node has. [cluster.Known] implements it.
type Known interface {
	Cached(id string) *rain.Campaign // nil if this node does not have it
	Live() []*rain.Campaign          // those that are not drained
}

// API is the HTTP surface under Root.
type API struct {
	o Options

	previews *semaphore.Weighted
	spare    *rate.Limiter // in place of Limits while Redis does not answer

	refusals, guests, logins, accounts *prometheus.CounterVec

	importing sync.Mutex // allows one import at a time, which is held in memory
}

// Campaigns finds campaigns. [cluster.Registry] implements it.
type Campaigns interface {
	Known
	Get(ctx context.Context, id string) (*rain.Campaign, error) // posting.ErrUnknownCampaign if there is none
}

// Options of an API. All are required unless stated otherwise.
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
	Payees      payeeLinks
	Seals       Seals
	Exports     exports
	Sanctions   *ledger.Sanctions
	Held        *ledger.Risk
	Lists       *ledger.Lists
	PlayerList  *ledger.Players

	Connections Connections

	Wins      Wins
	Outbox    Outbox
	Limits    Limits
	Campaigns Campaigns
	Stats     history.Stats
	Figures   *history.Table
	Events    *Events
	Notifier  Notifier
	Players   Players
	Operators Operators
	// Logins are the codes that sign players in.
	Logins *login.Codes
	// Accounts are the providers where players have accounts.
	Accounts Accounts
	// Banned reports whether this node has a ban of a player.
	Banned func(user string) bool
	// Profiles returns the known display profiles of players. After an error some are missing. Nil: there are none.
	Profiles func(ctx context.Context, users []string) (map[string]wire.Profile, error)
	SignIn   *SignIn // nil: operators have no identity provider
	// Demo returns the id of the demo campaign, or "". Nil: there is no demo.
	Demo func() string
	// Notified is the provider of Payout, if it sends notifications. Nil: it sends none.
	Notified NotifiedProvider
	// WakePayer is called when a withdrawal waits to be paid.
	WakePayer func()
	// TellSanction applies a sanction here and notifies the other nodes. When it returns, the sanction holds for all
	// later wins.
	TellSanction func(ctx context.Context, one standing.Sanction)
	// TellLists applies a list that was changed at a time, and notifies the other nodes. When it returns, the change
	// holds for all later wins.
	TellLists func(ctx context.Context, changedAt int64)
	// MayPlay returns nil if a player may take part in a campaign, else standing.ErrNotInvited, standing.ErrDenied, or
	// the error of the check. A nil campaign means any, and an empty user a new guest.
	MayPlay func(ctx context.Context, c *rain.Campaign, user, address string) error
	// RiskSystem is asked about guests and withdrawals. Nil: no checks.
	RiskSystem RiskSystem
	// Judged is called after each new verdict about a player.
	Judged func()
	// TellWithdrawn notifies the player of a withdrawal's state.
	TellWithdrawn func(id string)
	// JoinURL returns the server's address for phones: the public one, or one in the same network; "" if it is unknown.
	JoinURL   func() string
	Version   string // of this build
	InProcess bool   // without external back ends: a trial without durable data
	Guests    bool   // guests are admitted
	ShowNames bool   // players are shown by their names
	// GuestPayee returns the payee of a guest's token: play money only. Nil: guests have none.
	GuestPayee func(user string) map[string]string
	// Challenge is the CAPTCHA before a guest is created. May be nil.
	Challenge Challenge
	// AllowedOrigins are the web origins whose pages may read the routes for players and for all clients; "*": all.
	AllowedOrigins []string
	PayeeKind      string                    // kind of the payees that withdrawals go to; "": they need none
	Payout         openapi.Payout            // the destination of withdrawals as players see it
	GuestRate      float64                   // new guests per second and address; 0: no limit
	GuestsPerDay   int                       // per day and address; 0: no limit
	Unbounded      func(address string) bool // reports addresses without these limits
	Recoverer      *loop.Recoverer           // nil: panics are logged only
	Clock          rain.Clock
	Log            *slog.Logger
	// Registerer takes the metrics; nil: they stay unregistered.
	Registerer prometheus.Registerer
}

// New returns the API. It starts no goroutines.
func New(o Options) *API {
	if o.Demo == nil {
		o.Demo = func() string { return "" }
	}
	if o.Profiles == nil {
		o.Profiles = func(context.Context, []string) (map[string]wire.Profile, error) { return nil, nil }
	}
	return &API{o: o, previews: semaphore.NewWeighted(1), refusals: newRefusals(o.Registerer),
		spare:  rate.NewLimiter(wrongTokensAMinute/60.0, wrongTokensAMinute),
		guests: newGuestCounts(o.Registerer), logins: newLoginCounts(o.Registerer),
		accounts: newAccountCounts(o.Registerer)}
}
