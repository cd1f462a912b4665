package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/client/openapi"
	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/requestid"
	"redrain/internal/sqldb"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/server/campaigns"
	"redrain/server/cluster"
)

// problem is an error answer, RFC 9457. Code is stable; Title and Detail are for people.
type problem = openapi.Problem

func writeProblem(w http.ResponseWriter, p problem) {
	if p.Type == "" {
		p.Type = "about:blank"
	}
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	p.RequestID = w.Header().Get(requestid.Header)
	w.Header().Del("Content-Disposition")
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="redrain"`)
	}
	if p.Status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(encode(p)) // if this fails, the client is gone
}

// WriteProblem answers a request with an error, for the parts of the server outside the API.
func WriteProblem(w http.ResponseWriter, status int, code, detail string) {
	writeProblem(w, problem{Status: status, Code: code, Detail: detail})
}

// problemOf is the table from errors to answers. The first match counts.
var problemOf = []struct {
	err    error
	status int
	code   string
}{
	{posting.ErrUnknownCampaign, http.StatusNotFound, "unknown_campaign"},
	{posting.ErrUnreadableCampaign, http.StatusInternalServerError, "unreadable_campaign"},
	{ledger.ErrUnknownSponsor, http.StatusNotFound, "unknown_sponsor"},
	{ledger.ErrUnknownClaim, http.StatusNotFound, "unknown_claim"},
	{ledger.ErrUnknownWithdrawal, http.StatusNotFound, "unknown_withdrawal"},
	{ledger.ErrAlreadySent, http.StatusConflict, "withdrawal_sent"},
	{ledger.ErrNoPayee, http.StatusConflict, "no_payee"},
	{ledger.ErrBanned, http.StatusForbidden, "banned"},
	{standing.ErrNotInvited, http.StatusForbidden, "not_on_the_list"},
	{standing.ErrDenied, http.StatusForbidden, "denied"},
	{ledger.ErrUnknownList, http.StatusNotFound, "unknown_list"},
	{ledger.ErrListExists, http.StatusConflict, "list_exists"},
	{ledger.ErrListBusy, http.StatusConflict, "list_busy"},
	{ledger.ErrListInUse, http.StatusConflict, "list_in_use"},
	{ledger.ErrListLeaving, http.StatusConflict, "list_leaving"},
	{ledger.ErrNotHeld, http.StatusConflict, "withdrawal_not_held"},
	{ledger.ErrNotWaiting, http.StatusConflict, "withdrawal_not_waiting"},
	{ledger.ErrUnknownApproval, http.StatusNotFound, "unknown_approval"},
	{ledger.ErrApprovalOver, http.StatusConflict, "approval_over"},
	{ledger.ErrSamePerson, http.StatusConflict, "same_person"},
	{ledger.ErrNeedsName, http.StatusForbidden, "name_needed"},
	{ledger.ErrChangedMeanwhile, http.StatusConflict, "changed_meanwhile"},
	{rain.ErrUnknownRain, http.StatusNotFound, "unknown_rain"},
	{booking.ErrInsufficientFunds, http.StatusConflict, "insufficient_funds"},
	{rain.ErrRainRunning, http.StatusConflict, "rain_running"},
	{rain.ErrClosed, http.StatusConflict, "campaign_closed"},
	{rain.ErrNotStocked, http.StatusConflict, "campaign_loading"},
	{store.ErrAlive, http.StatusConflict, "campaign_alive"},
	{export.ErrNotOver, http.StatusConflict, "campaign_not_over"},
	{export.ErrRemoved, http.StatusGone, "campaign_dropped"},
	{campaigns.ErrDrained, http.StatusConflict, "campaign_drained"},
	{campaigns.ErrRebuilding, http.StatusConflict, "rebuild_superseded"},
	{store.ErrSuperseded, http.StatusConflict, "rebuild_superseded"},
	{posting.ErrRebuildSuperseded, http.StatusConflict, "rebuild_superseded"},
	{store.ErrUnsettled, http.StatusConflict, "outbox_unsettled"},
	{ledger.ErrWithdrawalsHeld, http.StatusServiceUnavailable, "withdrawals_held"},
	{ledger.ErrIdempotencyBusy, http.StatusConflict, "idempotency_in_progress"},
	{ledger.ErrReferenceReused, http.StatusUnprocessableEntity, "idempotency_mismatch"},
	{ledger.ErrIdempotencyUnequal, http.StatusUnprocessableEntity, "idempotency_mismatch"},
	{posting.ErrRotatedJustNow, http.StatusConflict, "rotated_just_now"},
	{ledger.ErrStillDead, http.StatusConflict, "still_dead"},
	{store.ErrNoState, http.StatusServiceUnavailable, "state_lost"},
	{campaigns.ErrUnstocked, http.StatusServiceUnavailable, "unavailable"},
	{campaigns.ErrApply, http.StatusServiceUnavailable, "unavailable"},
	{auth.ErrIssuerUnavailable, http.StatusServiceUnavailable, "unavailable"},
	{auth.ErrKeysUnavailable, http.StatusServiceUnavailable, "unavailable"},
}

// busyAfter is the Retry-After of "busy", in seconds. A row lock of a dead node is released by then.
const busyAfter = "3"

// fail answers a request with an error. An error outside the table is "internal": its cause is logged and never sent.
func fail(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	if errors.Is(err, ledger.ErrBadCursor) {
		err = invalid("cursor", "is not one that this list has given")
	}
	if wrong, ok := errors.AsType[rain.Invalid](err); ok {
		writeProblem(w, problem{Status: http.StatusUnprocessableEntity, Code: "invalid",
			Detail: "invalid request", Errors: wrong})
		return
	}
	if p, ok := errors.AsType[*problemError](err); ok {
		writeProblem(w, p.problem)
		return
	}
	if limit, ok := errors.AsType[*ledger.LimitError](err); ok {
		overLimit(w, limit)
		return
	}
	for _, known := range problemOf {
		if !errors.Is(err, known.err) {
			continue
		}
		if known.status >= http.StatusInternalServerError {
			log.WarnContext(r.Context(), "a request failed for now", "method", r.Method, "path", r.URL.Path, "err", err)
		}
		writeProblem(w, problem{Status: known.status, Code: known.code, Detail: known.err.Error()})
		return
	}
	if r.Context().Err() != nil {
		return // the client is gone
	}
	if sqldb.IsBusy(err) {
		log.WarnContext(r.Context(), "a request has waited too long for a lock in the database", "method", r.Method,
			"path", r.URL.Path, "err", err)
		w.Header().Set("Retry-After", busyAfter)
		writeProblem(w, problem{Status: http.StatusServiceUnavailable, Code: "busy",
			Detail: "a resource is busy; nothing was changed; try again"})
		return
	}
	if unavailable(err) {
		log.WarnContext(r.Context(), "a request failed for now", "method", r.Method, "path", r.URL.Path, "err", err)
		writeProblem(w, problem{Status: http.StatusServiceUnavailable, Code: "unavailable",
			Detail: "a back end does not answer; try again"})
		return
	}
	log.ErrorContext(r.Context(), "a request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	writeProblem(w, problem{Status: http.StatusInternalServerError, Code: "internal",
		Detail: "internal error; see the server log"})
}

// unavailable reports whether an error means that a back end cannot be reached for now. Each back end's package
// classifies its own errors; those of the network are the same for all.
func unavailable(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		sqldb.IsUnavailable(err) || store.IsUnavailable(err) || cluster.IsUnavailable(err)
}

// problemError is an error that is already an answer.
type problemError struct{ problem }

// Error returns the detail.
func (p *problemError) Error() string { return p.Detail }

// tooMany refuses a request above a limit that allows one more after some time.
func (q *request) tooMany(after time.Duration, detail string) error {
	q.w.Header().Set("Retry-After", retryAfter(after))
	return refuse(http.StatusTooManyRequests, "too_many_requests", detail)
}

// retryAfter returns a duration for the Retry-After header: whole seconds, at least one.
func retryAfter(d time.Duration) string {
	return strconv.Itoa(max(1, int((d+time.Second-1)/time.Second)))
}

// limit refuses a request if a limit does not allow one more of a key. full counts that, and may be nil.
func (a *API) limit(q *request, name, key string, rate, burst float64, full prometheus.Counter, detail string) error {
	ok, after, err := a.o.Limits.Allow(q.Context(), name, key, rate, burst)
	if err != nil || ok {
		return err
	}
	if full != nil {
		full.Inc()
	}
	return q.tooMany(after, detail)
}

func refuse(status int, code, detail string) error {
	return &problemError{problem{Status: status, Code: code, Detail: detail}}
}
