package api

import (
	"net/http"
	"strconv"
	"time"

	"redrain/payout/ledger"
)

// overLimit answers who wants to withdraw more than players may.
func overLimit(w http.ResponseWriter, l *ledger.LimitError) {
	p := problem{Status: http.StatusForbidden, Code: "guests_cannot_withdraw", Detail: l.Error()}
	switch l.Limit {
	case ledger.LimitLeast:
		p.Status, p.Code = http.StatusUnprocessableEntity, "withdrawal_too_small"
	case ledger.LimitDay:
		p.Status, p.Code = http.StatusConflict, "daily_limit"
	case ledger.LimitHour:
		p.Status, p.Code = http.StatusTooManyRequests, "hourly_limit"
		w.Header().Set("Retry-After", strconv.Itoa(int((l.After+time.Second-1)/time.Second)))
	}
	writeProblem(w, p)
}
