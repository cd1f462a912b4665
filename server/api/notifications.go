package api

import (
	"errors"
	"io"
	"net/http"

	"redrain/payout/ledger"
	"redrain/payout/withdraw"
	"redrain/server/clientip"
)

// maxNotification is the limit of a notification, in bytes. Those of WeChat Pay and Alipay have one or two thousand.
const maxNotification = 64 << 10

// notification takes the news of a payment provider. It only makes their withdrawal due: the payer asks the provider
// itself. So a late, repeated or replayed notification decides nothing.
func (a *API) notification(provider string) handler {
	return func(q *request) (any, error) {
		from := a.o.Notified
		if from == nil || a.o.Payout.Provider != provider {
			return nil, refuse(http.StatusNotFound, "not_found", "this server has no such payment provider")
		}
		body, err := io.ReadAll(http.MaxBytesReader(q.w, q.Body, maxNotification))
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "malformed", "the body cannot be read")
		}
		key, err := from.ReadNotification(q.Header, body)
		if err != nil {
			address := clientip.RequestKey(q.Request)
			if ok, _ := a.allowed(q.Context(), "wrong-notification", address, wrongTokensAMinute); ok {
				a.o.Log.Warn("refused a notification", "provider", provider, "addr", address, "err", err)
			}
			from.AnswerNotification(q.w, http.StatusUnauthorized)
			return nil, nil
		}
		if key != "" {
			err = a.o.Withdrawals.Recheck(q.Context(), key, from.Receiver().String())
		}
		switch {
		case errors.Is(err, ledger.ErrUnknownWithdrawal) || errors.Is(err, ledger.ErrNotAsked):
			// Another system may use the same account. A repetition changes nothing.
			a.o.Log.Info("a notification is about no withdrawal of this server", "provider", provider, "order", key)
		case err != nil:
			a.o.Log.Error("note the news of a payment provider; it will send them again", "provider", provider,
				"withdrawal", key, "err", err)
			from.AnswerNotification(q.w, http.StatusServiceUnavailable)
			return nil, nil
		default:
			a.o.WakePayer()
		}
		from.AnswerNotification(q.w, http.StatusOK)
		return nil, nil
	}
}

// NotifiedProvider is the provider of withdrawals that sends notifications.
type NotifiedProvider interface {
	withdraw.Notified
	Receiver() withdraw.Receiver
}
