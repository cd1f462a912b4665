package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"redrain/rain"
	"redrain/server/timeout"
)

const (
	Root        = "/api/v1"
	rebuildPath = "/campaigns/{id}/rebuild"
)

// API is the HTTP surface under apiRoot.
type API struct {
	o Options

	previews previews
}

// Campaigns finds campaigns. [cluster.Registry] does.
type Campaigns interface {
	Get(ctx context.Context, id string) (*rain.Campaign, error) // payout.ErrUnknownCampaign where there is none
	Cached(id string) *rain.Campaign                            // nil where this node does not know it
	Live() []*rain.Campaign                                     // those that this node knows and that are not drained
}

// Ledger is what the handlers read and write of the ledger. [payout.Ledger] does it all.
type Ledger interface {
	accounts
	campaignList
	claimList
	withdrawalList
	deadLetterList
	auditRecords
	answers
}

// Options of an API. All are needed but those that say so.
type Options struct {
	Commands  Commands
	Rebuilder Rebuilder
	Proofs    Proofs
	Ledger    Ledger
	Wins      Wins
	Outbox    Outbox
	Limits    Limits
	Campaigns Campaigns
	Stats     Stats
	Events    *Events
	Notifier  Notifier
	Players   Players
	Operators Operators
	// Demo is the campaign that a newcomer plays, "" for none. Nil: there is never one.
	Demo func() string
	// WakePayer is called when a withdrawal waits to be paid.
	WakePayer func()
	// JoinURL is where a phone on the same network finds the server, "" for nowhere.
	JoinURL   func() string
	Version   string  // of this build
	InProcess bool    // without real back ends: a trial, which may forget everything
	Guests    bool    // anyone may play under a generated name
	GuestRate float64 // new guests per second and address; 0: no limit
	Clock     rain.Clock
	Log       *slog.Logger
}

// newAPI is the HTTP surface. Nothing runs in it that its requests do not wait for.
func New(o Options) *API {
	if o.Demo == nil {
		o.Demo = func() string { return "" }
	}
	return &API{o: o, previews: newPreviews()}
}

// access is who may call a route.
type access int

const (
	anyone   access = iota
	player          // a player's token
	viewer          // the viewer's or the operator's token
	operator        // the operator's token
)

// handler answers a request or returns the error that ends it.
type handler func(w http.ResponseWriter, r *http.Request, who caller) error

// route is one line of the contract's table.
type route struct {
	method, path string
	access       access
	handle       handler
}

func (a *API) routes() []route {
	return []route{
		{"POST", "/sponsors/{id}/deposits", operator, a.once(a.deposit)},
		{"GET", "/sponsors", viewer, a.sponsors},
		{"GET", "/sponsors/{id}", viewer, a.sponsor},
		{"POST", "/splits/preview", viewer, a.previewSplit},
		{"POST", "/campaigns", operator, a.once(a.createCampaign)},
		{"GET", "/campaigns", viewer, a.campaigns},
		{"GET", "/campaigns/{id}", viewer, a.campaign},
		{"POST", "/campaigns/{id}/rains", operator, a.once(a.startRain)},
		{"POST", "/campaigns/{id}/rains/{rain}/stop", operator, a.stopRain},
		{"POST", "/campaigns/{id}/pause", operator, a.command("pause", Commands.Pause)},
		{"POST", "/campaigns/{id}/resume", operator, a.command("resume", Commands.Resume)},
		{"POST", "/campaigns/{id}/close", operator, a.command("close", Commands.Close)},
		{"POST", rebuildPath, operator, a.rebuild},
		{"GET", "/campaigns/{id}/stats", viewer, a.stats},
		{"GET", "/campaigns/{id}/claims", viewer, a.campaignClaims},
		{"GET", "/campaigns/{id}/reconciliation", viewer, a.reconciliation},
		{"GET", "/campaigns/{id}/rains/{rain}/fairness", anyone, a.fairness},
		{"GET", "/reconciliation", viewer, a.reconcileAll},
		{"GET", "/payouts", viewer, a.deadLetters},
		{"POST", "/payouts/retry", operator, a.retryAllPayouts},
		{"POST", "/payouts/{claim}/retry", operator, a.retryPayout},
		{"GET", "/users/{id}", viewer, a.user},
		{"GET", "/users/{id}/claims", viewer, a.userClaims},
		{"GET", "/users/{id}/withdrawals", viewer, a.userWithdrawals},
		{"GET", "/withdrawals", viewer, a.withdrawals},
		{"GET", "/me", player, a.me},
		{"GET", "/me/claims", player, a.myClaims},
		{"POST", "/me/withdrawals", player, a.once(a.withdraw)},
		{"GET", "/me/withdrawals", player, a.myWithdrawals},
		{"GET", "/me/withdrawals/{id}", player, a.myWithdrawal},
		{"POST", "/guests", anyone, a.guest},
		{"GET", "/lobby", anyone, a.lobby},
		{"GET", "/whoami", viewer, a.whoami},
		{"GET", "/events", viewer, a.feed},
		{"GET", "/audit", viewer, a.auditLog},
	}
}

// Mount adds the routes to a mux. A path with another method is 405, and anything else under the root 404, both as
// problems like every error.
func (a *API) Mount(mux *http.ServeMux) {
	byPath := map[string]map[string]route{}
	for _, rt := range a.routes() {
		if byPath[rt.path] == nil {
			byPath[rt.path] = map[string]route{}
		}
		byPath[rt.path][rt.method] = rt
	}
	for path, methods := range byPath {
		mux.Handle(Root+path, a.dispatch(methods))
	}
	mux.HandleFunc(Root+"/", func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, problem{Status: http.StatusNotFound, Code: "not_found",
			Detail: "there is no such path; /docs has the list"})
	})
}

func (a *API) dispatch(methods map[string]route) http.Handler {
	allowed := make([]string, 0, len(methods))
	for m := range methods {
		allowed = append(allowed, m)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		rt, ok := methods[method]
		if !ok {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			writeProblem(w, problem{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
				Detail: "use " + strings.Join(allowed, " or ")})
			return
		}
		a.serve(w, r, rt)
	})
}

func (a *API) serve(w http.ResponseWriter, r *http.Request, rt route) {
	who, err := a.admit(r, rt.access)
	if err == nil {
		ctx, cancel := r.Context(), context.CancelFunc(func() {})
		if r.Method == http.MethodPost {
			limit := timeout.Command
			if rt.path == rebuildPath {
				limit = timeout.Rebuild
			}
			ctx, cancel = context.WithTimeout(ctx, limit)
		}
		err = rt.handle(w, r.WithContext(ctx), who)
		cancel()
		if rt.access == operator {
			a.logCommand(r, who, err)
		}
	}
	if err != nil {
		fail(w, r, a.o.Log, err)
	}
}

// campaignOf is the campaign that a request's path names.
func (a *API) campaignOf(r *http.Request) (*rain.Campaign, error) {
	return a.o.Campaigns.Get(r.Context(), r.PathValue("id"))
}
