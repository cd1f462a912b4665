package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"redrain/server/timeout"
)

const (
	// Root is the path that all routes begin with.
	Root = "/api/v1"
)

func (a *API) routes() []route {
	return []route{
		{"POST", "/sponsors/{id}/deposits", operator, a.once(a.deposit), 0},
		{"GET", "/sponsors", viewer, a.sponsors, 0},
		{"GET", "/sponsors/{id}", viewer, a.sponsor, 0},
		{"POST", "/splits/preview", viewer, a.previewSplit, 0},
		{"POST", "/campaigns", operator, a.once(a.createCampaign), 0},
		{"GET", "/campaigns", viewer, a.campaigns, 0},
		{"GET", "/campaigns/{id}", viewer, a.campaign, 0},
		{"POST", "/campaigns/{id}/rains", operator, a.once(a.startRain), 0},
		{"POST", "/campaigns/{id}/rains/{rain}/stop", operator, a.stopRain, 0},
		{"POST", "/campaigns/{id}/pause", operator, a.command("pause", Commands.Pause), 0},
		{"POST", "/campaigns/{id}/resume", operator, a.command("resume", Commands.Resume), 0},
		{"POST", "/campaigns/{id}/close", operator, a.command("close", Commands.Close), 0},
		{"POST", "/campaigns/{id}/rebuild", operator, a.rebuild, timeout.Rebuild},
		{"GET", "/campaigns/{id}/stats", viewer, a.stats, 0},
		{"GET", "/campaigns/{id}/claims", viewer, a.campaignClaims, unlimited},
		{"GET", "/campaigns/{id}/reconciliation", viewer, a.reconciliation, timeout.Proof},
		{"GET", "/campaigns/{id}/rains/{rain}/fairness", anyone, a.fairness, 0},
		{"GET", "/reconciliation", viewer, a.reconcileAll, timeout.Proof},
		{"GET", "/payouts", viewer, a.deadLetters, 0},
		{"POST", "/payouts/retry", operator, a.retryAllPayouts, 0},
		{"POST", "/payouts/{claim}/retry", operator, a.retryPayout, 0},
		{"POST", "/payouts/{claim}/dismiss", operator, a.dismissPayout, 0},
		{"GET", "/users/{id}", viewer, a.user, 0},
		{"GET", "/users/{id}/claims", viewer, a.userClaims, 0},
		{"GET", "/users/{id}/withdrawals", viewer, a.userWithdrawals, 0},
		{"GET", "/withdrawals", viewer, a.withdrawals, 0},
		{"GET", "/me", player, a.me, 0},
		{"GET", "/me/claims", player, a.myClaims, 0},
		{"POST", "/me/withdrawals", player, a.once(a.withdraw), 0},
		{"GET", "/me/withdrawals", player, a.myWithdrawals, 0},
		{"GET", "/me/withdrawals/{id}", player, a.myWithdrawal, 0},
		{"POST", "/guests", anyone, a.guest, 0},
		{"GET", "/lobby", anyone, a.lobby, 0},
		{"GET", "/whoami", viewer, a.whoami, 0},
		{"GET", "/events", viewer, a.feed, unlimited},
		{"GET", "/audit", viewer, a.auditLog, 0},
		{"POST", "/seal/rotate", operator, a.rotateSeal, 0},
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
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if limit := rt.usual(); limit != unlimited {
		ctx, cancel = context.WithTimeout(ctx, limit)
		_ = writeWithin(w, limit+timeout.Progress) // where it fails the connection is gone, as the write will find
	}
	defer cancel()
	err := a.o.Guard.Try("http", func() error { return a.handle(w, r.WithContext(ctx), rt) })
	if errors.Is(err, errCut) {
		panic(http.ErrAbortHandler) // the header is out: only a cut connection still says that the answer is not whole
	}
	if err != nil {
		fail(w, r, a.o.Log, err)
	}
}

func (a *API) handle(w http.ResponseWriter, r *http.Request, rt route) error {
	who, err := a.admit(r, rt.access)
	if err != nil {
		return err
	}
	err = rt.handle(w, r, who)
	if rt.access == operator {
		a.logCommand(r, who, err)
	}
	return err
}
