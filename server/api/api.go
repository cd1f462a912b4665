package api

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rs/cors"

	"redrain/internal/requestid"
	"redrain/internal/wire"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/server/campaigns"
	"redrain/server/timeout"
)

// Root is the prefix of all routes.
const Root = "/api/v1"

func (a *API) routes() []route {
	return []route{
		{"POST", "/sponsors/{id}/deposits", depositing, a.once(a.deposit), 0},
		{"GET", "/sponsors", reading, a.sponsors, 0},
		{"GET", "/sponsors/{id}", reading, a.sponsor, 0},
		{"POST", "/splits/preview", reading, a.previewSplit, 0},
		{"POST", "/campaigns", campaigning, a.once(a.createCampaign), 0},
		{"GET", "/campaigns", reading, a.campaigns, 0},
		{"GET", "/campaigns/{id}", reading, a.campaign, 0},
		{"POST", "/campaigns/{id}/rains", campaigning, a.once(a.startRain), 0},
		{"POST", "/campaigns/{id}/rains/{rain}/stop", campaigning, a.stopRain, 0},
		{"POST", "/campaigns/{id}/pause", campaigning, a.command("pause", (*campaigns.Service).Pause), 0},
		{"POST", "/campaigns/{id}/resume", campaigning, a.command("resume", (*campaigns.Service).Resume), 0},
		{"POST", "/campaigns/{id}/close", campaigning, a.command("close", (*campaigns.Service).CloseAndReclaim), 0},
		{"POST", "/campaigns/{id}/rebuild", campaigning, a.rebuild, timeout.Rebuild},
		{"GET", "/campaigns/{id}/stats", reading, a.stats, 0},
		{"GET", "/campaigns/{id}/history", reading, a.history, 0},
		{"GET", "/campaigns/{id}/claims", reading, a.campaignClaims, unlimited},
		{"GET", "/campaigns/{id}/export", campaigning, a.exportCampaign, unlimited},
		{"GET", "/campaigns/{id}/reconciliation", reading, a.reconciliation, timeout.Proof},
		{"GET", "/campaigns/{id}/rains/{rain}/fairness", anyone, a.fairness, 0},
		{"GET", "/reconciliation", reading, a.reconcileAll, timeout.Proof},
		{"GET", "/reconciliation/full", reading, a.reconcileFull, unlimited},
		{"GET", "/reconciliation/proved", reading, a.proved, 0},
		{"GET", "/payouts", reading, a.deadLetters, 0},
		{"POST", "/payouts/retry", judging, a.retryAllPayouts, 0},
		{"POST", "/payouts/{claim}/retry", judging, a.retryPayout, 0},
		{"POST", "/payouts/{claim}/dismiss", judging, a.dismissPayout, 0},
		{"GET", "/users", reading, a.users, 0},
		{"GET", "/users/{id}", reading, a.user, 0},
		{"POST", "/users/{id}/disconnect", policing, a.sanction(standing.Disconnect), 0},
		{"POST", "/users/{id}/ban", policing, a.sanction(standing.Ban), 0},
		{"POST", "/users/{id}/unban", policing, a.sanction(standing.Unban), 0},
		{"GET", "/bans", reading, a.bans, 0},
		{"GET", "/risk", reading, a.riskSummary, 0},
		{"GET", "/risk/held", reading, a.heldWins, 0},
		{"POST", "/risk/release", judging, a.decideHeld("release"), 0},
		{"POST", "/risk/confirm", judging, a.decideHeld("confirm"), 0},
		{"GET", "/lists", reading, a.playerLists, 0},
		{"POST", "/lists", policing, a.once(a.createPlayerList), 0},
		{"GET", "/lists/{id}", reading, a.playerList, 0},
		{"DELETE", "/lists/{id}", policing, a.deletePlayerList, timeout.Rebuild},
		{"GET", "/lists/{id}/members", reading, a.listMembers, 0},
		{"POST", "/lists/{id}/members", policing, a.putMembers(false), timeout.Rebuild},
		{"PUT", "/lists/{id}/members", policing, a.putMembers(true), timeout.Rebuild},
		{"POST", "/lists/{id}/remove", policing, a.removeMembers, 0},
		{"GET", "/users/{id}/claims", reading, a.claimsOf, 0},
		{"GET", "/users/{id}/withdrawals", reading, a.withdrawals, 0},
		{"GET", "/withdrawals", reading, a.withdrawals, 0},
		{"GET", "/withdrawals/{id}", reading, a.withdrawal, 0},
		{"POST", "/withdrawals/{id}/hold", paying, a.holdWithdrawal, 0},
		{"POST", "/withdrawals/{id}/release", paying, a.releaseWithdrawal, 0},
		{"POST", "/withdrawals/{id}/paid", paying, a.endWithdrawal(ledger.ActPaid), 0},
		{"POST", "/withdrawals/{id}/back", paying, a.endWithdrawal(ledger.ActBack), 0},
		{"GET", "/approvals", reading, a.approvals, 0},
		{"GET", "/approvals/{id}", reading, a.approval, 0},
		{"POST", "/approvals/{id}/confirm", approving, a.confirmApproval, 0},
		{"POST", "/approvals/{id}/reject", approving, a.rejectApproval, 0},
		{"GET", "/me", player, a.me, 0},
		{"GET", "/me/claims", player, a.claimsOf, 0},
		{"POST", "/me/withdrawals", player, a.once(a.withdraw), 0},
		{"GET", "/me/withdrawals", player, a.myWithdrawals, 0},
		{"GET", "/me/withdrawals/{id}", player, a.myWithdrawal, 0},
		{"POST", "/me/token", player, a.renewGuest, 0},
		{"POST", "/providers/wechat/notifications", anyone, a.notification("wechat"), 0},
		{"POST", "/providers/alipay/notifications", anyone, a.notification("alipay"), 0},
		{"POST", "/guests", anyone, a.guest, 0},
		{"POST", "/login-codes", entering, a.makeLoginCode, 0},
		{"POST", "/login", anyone, a.login, 0},
		{"GET", "/login/oidc", anyone, a.beginLogin(byOIDC), 0},
		{"GET", "/login/oidc/callback", anyone, a.finishLogin(byOIDC), timeout.Command},
		{"GET", "/login/wechat", anyone, a.beginLogin(byWeChat), 0},
		{"GET", "/login/wechat/callback", anyone, a.finishLogin(byWeChat), timeout.Command},
		{"POST", "/login/wechat-mini", anyone, a.loginMini, 0},
		{"GET", "/wechat/sign", anyone, a.signPage, 0},
		{"GET", "/admission", player, a.admission, 0},
		{"GET", "/lobby", anyone, a.lobby, 0},
		{"GET", "/auth/config", anyone, a.signIn, 0},
		{"GET", "/whoami", reading, a.whoami, 0},
		{"GET", "/events", reading, a.feed, unlimited},
		{"GET", "/alarms", reading, a.listAlarms, 0},
		{"GET", "/audit", reading, a.auditLog, 0},
		{"GET", "/audit/roots", reading, a.auditRoots, 0},
		{"POST", "/audit/verify", reading, a.verifyAudit, timeout.Proof},
		{"POST", "/statements/match", reading, a.matchStatement, timeout.Proof},
		{"POST", "/seal/rotate", sealing, a.rotateSeal, 0},
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
	public, allowed := false, slices.Sorted(maps.Keys(methods))
	for _, rt := range methods {
		public = public || rt.public()
	}
	if methods[http.MethodGet].handle != nil {
		allowed = append(allowed, http.MethodHead)
	}
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		rt, ok := methods[method]
		if !ok {
			refuseMethod(w, allowed...)
			return
		}
		a.serve(w, r, rt)
	})
	if public && len(a.o.AllowedOrigins) > 0 {
		handler = a.crossOrigin(allowed).Handler(handler)
	}
	return handler
}

// crossOrigin lets pages of other origins read the routes for players and for all clients.
func (a *API) crossOrigin(methods []string) *cors.Cors {
	return cors.New(cors.Options{
		AllowedOrigins: a.o.AllowedOrigins, AllowedMethods: methods,
		AllowedHeaders: []string{"Authorization", "Content-Type", "Idempotency-Key", requestid.Header, "Traceparent"},
		ExposedHeaders: []string{"Retry-After", requestid.Header}, MaxAge: int((10 * time.Minute).Seconds()),
	})
}

// OnlyRead refuses all methods but GET and HEAD, as a problem like every error.
func OnlyRead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			refuseMethod(w, http.MethodGet, http.MethodHead)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func refuseMethod(w http.ResponseWriter, allowed ...string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeProblem(w, problem{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
		Detail: "use " + strings.Join(allowed, " or ")})
}

func (a *API) serve(w http.ResponseWriter, r *http.Request, rt route) {
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if limit := rt.usual(); limit != unlimited {
		ctx, cancel = context.WithTimeout(ctx, limit)
		_ = writeWithin(w, limit+timeout.Progress) // if it fails the connection is gone, and so will the write
	}
	defer cancel()
	q := &request{Request: r.WithContext(ctx), w: w}
	err := a.o.Recoverer.Try("http", func() error { return a.handle(q, rt) })
	if errors.Is(err, errCut) {
		panic(http.ErrAbortHandler) // the header is sent: only a broken connection shows the error
	}
	if err != nil {
		fail(w, r, a.o.Log, err)
	}
}

func (a *API) handle(q *request, rt route) error {
	if err := a.admit(q, rt.need); err != nil {
		return err
	}
	v, err := rt.handle(q)
	if rt.commands() {
		a.logCommand(q, err)
	}
	if err == nil && v != nil {
		answer := replyOf(v)
		WriteJSON(q.w, answer.status, answer.body)
	}
	return err
}

// The headers of RFC 6455.
const (
	protocolHeader = "Sec-WebSocket-Protocol"
	versionHeader  = "Sec-WebSocket-Version"
	version        = "13"
)

// RequireUpgrade forwards requests for a WebSocket of the right version. It answers the others with the required
// headers (RFC 6455, section 4.4; RFC 9110, section 15.5.22).
func RequireUpgrade(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet:
			refuseMethod(w, http.MethodGet)
		case !websocket.IsWebSocketUpgrade(r):
			upgradeRequired(w, "this is a WebSocket, subprotocol "+wire.Subprotocol)
		case r.Header.Get(versionHeader) != version:
			w.Header().Set(versionHeader, version)
			upgradeRequired(w, "the version of WebSocket is "+version)
		default:
			// A client's offers may come in several headers, but the library reads one only.
			if offered := r.Header.Values(protocolHeader); len(offered) > 1 {
				r.Header.Set(protocolHeader, strings.Join(offered, ", "))
			}
			next.ServeHTTP(w, r)
		}
	})
}

func upgradeRequired(w http.ResponseWriter, detail string) {
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "websocket")
	writeProblem(w, problem{Status: http.StatusUpgradeRequired, Code: "upgrade_required", Detail: detail})
}
