package login

import (
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // WeChat's signature is SHA-1
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"redrain/client/openapi"
	"redrain/internal/loop"
)

const (
	ticketEvery = time.Minute
	// ticketBefore is the time before its expiry when a ticket is replaced.
	ticketBefore = 10 * time.Minute
)

// ErrNoTicket is returned while this node has no ticket to sign with.
var ErrNoTicket = errors.New("there is no ticket of WeChat's yet; try again shortly")

// TicketStore shares a ticket between the nodes. [store.Tickets] implements it.
type TicketStore interface {
	Put(ctx context.Context, app, ticket string, life time.Duration) error
	// Ticket returns the ticket of an app and the rest of its life; "" if there is none.
	Ticket(ctx context.Context, app string) (ticket string, left time.Duration, err error)
}

// TicketsOptions are the settings of Tickets.
type TicketsOptions struct {
	WeChat    *WeChat
	Store     TicketStore
	Lease     loop.Lease // is held while a ticket is fetched, so that one node fetches it
	Recoverer *loop.Recoverer
	Log       *slog.Logger
}

// Tickets keeps the jsapi_ticket of an official account, and signs pages with it for WeChat's JS-SDK. WeChat issues few
// tickets a day, so all nodes use one. Run keeps it fresh. Tickets is safe for concurrent use.
type Tickets struct {
	o       TicketsOptions
	current atomic.Pointer[ticket] // nil until there is one
}

type ticket struct {
	text  string
	until time.Time
}

// NewTickets returns Tickets.
func NewTickets(o TicketsOptions) *Tickets { return &Tickets{o: o} }

// Run keeps the ticket fresh until ctx ends.
func (t *Tickets) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "wechat_ticket", Work: "fetch WeChat's ticket for the JS-SDK",
		Every: ticketEvery, Retry: time.Second, RetryMost: ticketEvery, Do: t.refresh, Recoverer: t.o.Recoverer,
		Log: t.o.Log})
}

// refresh takes over the nodes' ticket. If it ends soon and this node gets the lease, it fetches another one.
func (t *Tickets) refresh(ctx context.Context) error {
	app := t.o.WeChat.o.App
	text, left, err := t.o.Store.Ticket(ctx, app)
	if err == nil && left < ticketBefore {
		err = t.o.Lease.Under(ctx, func(ctx context.Context) (err error) {
			text, left, err = t.o.Store.Ticket(ctx, app) // another node may have fetched it meanwhile
			if err != nil || left >= ticketBefore {
				return err
			}
			if text, left, err = t.o.WeChat.Ticket(ctx); err != nil {
				return err
			}
			return t.o.Store.Put(ctx, app, text, left)
		})
	}
	switch {
	case err != nil:
		return err
	case text == "":
		return ErrNoTicket // another node is fetching it
	}
	t.current.Store(&ticket{text, time.Now().Add(left)})
	return nil
}

// Sign signs the address of a page, without the part after #, or returns ErrNoTicket.
func (t *Tickets) Sign(address string) (openapi.WeChatSignature, error) {
	now := time.Now()
	current := t.current.Load()
	if current == nil || now.After(current.until) {
		return openapi.WeChatSignature{}, ErrNoTicket
	}
	s := openapi.WeChatSignature{AppID: t.o.WeChat.o.App, NonceStr: rand.Text(), Timestamp: now.Unix()}
	s.Signature = signature(current.text, s.NonceStr, s.Timestamp, address)
	return s, nil
}

// signature is the one of appendix 1 of the JS-SDK's documentation, see [WeChat.Ticket].
func signature(ticket, nonce string, timestamp int64, address string) string {
	address, _, _ = strings.Cut(address, "#")
	sum := sha1.Sum(fmt.Appendf(nil, "jsapi_ticket=%s&noncestr=%s&timestamp=%d&url=%s", //nolint:gosec // see above
		ticket, nonce, timestamp, address))
	return hex.EncodeToString(sum[:])
}
