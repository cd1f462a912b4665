package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// ErrNoPayee means that the player has linked no account at the provider.
var ErrNoPayee = errors.New("no account to pay to is linked: sign in with the account at the payment provider")

// The providers whose withdrawals go to a payee.
const (
	payeeWeChat = "wechat"
	payeeAlipay = "alipay"
)

// Payee is a player's account at a payment provider.
type Payee struct {
	User     string
	Kind     string // "alipay", or "wechat:" and the app that the openid belongs to
	Account  string // the Alipay id, or the openid
	IssuedAt int64  // of the token that named it, Unix ms; 0: the token does not say
	LinkedAt int64  // Unix ms
}

// String returns the payee as withdrawals name it. It identifies a person: it belongs in no log.
func (p Payee) String() string { return p.Kind + ":" + p.Account }

// Provider returns the provider of the payee.
func (p Payee) Provider() string {
	provider, _, _ := strings.Cut(p.Kind, ":")
	return provider
}

// Masked returns the account with its middle hidden, for its owner.
func (p Payee) Masked() string {
	const shown = 3
	if len(p.Account) < 3*shown {
		return "***"
	}
	return p.Account[:shown] + "***" + p.Account[len(p.Account)-shown:]
}

// WeChatPayees returns the kind of payees of a WeChat app.
func WeChatPayees(app string) string { return payeeWeChat + ":" + app }

// AlipayPayees is the kind of payees of Alipay.
const AlipayPayees = payeeAlipay

var payeePattern = map[string]*regexp.Regexp{
	payeeWeChat: regexp.MustCompile(`^([A-Za-z0-9_-]{1,64}):([A-Za-z0-9_-]{1,64})$`),
	payeeAlipay: regexp.MustCompile(`^([A-Za-z0-9_-]{1,128})$`),
}

// payeesOf reads the claim "payee" of a token: {"wechat":"APPID:OPENID"} or {"alipay":"…"}. Other providers are
// ignored.
func payeesOf(user string, claim map[string]string, issuedAt int64) (list []Payee, err error) {
	for _, provider := range slices.Sorted(maps.Keys(claim)) {
		pattern := payeePattern[provider]
		if pattern == nil {
			continue
		}
		parts := pattern.FindStringSubmatch(claim[provider])
		if parts == nil {
			return nil, rain.Invalid{{Field: "payee", Message: "the token's payee for " + provider + " is not valid"}}
		}
		p := Payee{User: user, Kind: provider, Account: parts[len(parts)-1], IssuedAt: issuedAt}
		if provider == payeeWeChat {
			p.Kind = WeChatPayees(parts[1])
		}
		list = append(list, p)
	}
	return list, nil
}

// Payees reads and links players' accounts at payment providers. Rows are only added.
type Payees struct {
	db    *sqldb.DB
	clock rain.Clock
}

var payeeTable = sqldb.NewTable("payee", func(p *Payee) []any {
	return []any{"user_id", &p.User, "kind", &p.Kind, "account", &p.Account, "issued_at", &p.IssuedAt,
		"linked_at", &p.LinkedAt}
})

// Link links the payees of a token to its player, from the next withdrawal on. A token that was issued before the one
// of the present payee changes nothing. The error is rain.Invalid if the claim is malformed.
func (s *Payees) Link(ctx context.Context, user string, claim map[string]string, issuedAt int64) error {
	named, err := payeesOf(user, claim, issuedAt)
	if err != nil {
		return err
	}
	for _, p := range named {
		if old, found, err := newestPayee(ctx, s.db, user, p.Kind, ""); err != nil {
			return fmt.Errorf("read the payee of player %q: %w", user, err)
		} else if found && !p.replaces(old) {
			continue
		}
		err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			old, found, err := newestPayee(ctx, tx, user, p.Kind, tx.ForUpdate())
			if err != nil || found && !p.replaces(old) {
				return err
			}
			p.LinkedAt = s.clock()
			return payeeTable.Insert(ctx, tx, sqldb.Merge{}, p)
		})
		if err != nil {
			return fmt.Errorf("link a payee of player %q: %w", user, err)
		}
	}
	return nil
}

func (p Payee) replaces(old Payee) bool { return p.Account != old.Account && p.IssuedAt > old.IssuedAt }

// Of returns a player's present payees, one of each kind.
func (s *Payees) Of(ctx context.Context, user string) ([]Payee, error) {
	list, err := payeeTable.List(ctx, s.db, "WHERE user_id = ? AND id IN (SELECT MAX(id) FROM payee WHERE "+
		"user_id = ? GROUP BY kind) ORDER BY kind", user, user)
	return list, sqldb.Wrap(err, "read the payees of player %q", user)
}

func newestPayee(ctx context.Context, q sqldb.Querier, user, kind, lock string) (p Payee, found bool, err error) {
	return payeeTable.Find(ctx, q, "WHERE user_id = ? AND kind = ? ORDER BY id DESC LIMIT 1"+lock, user, kind)
}

// lockPayee locks the rows of a payee until tx ends: each player who shares it has one.
func lockPayee(ctx context.Context, tx *sqldb.Tx, payee string) error {
	at := strings.LastIndex(payee, ":")
	_, err := payeeTable.List(ctx, tx, "WHERE kind = ? AND account = ? ORDER BY id"+tx.ForUpdate(), payee[:at],
		payee[at+1:])
	return err
}

// PaidTo returns the same withdrawals with payees of a kind: a new one goes to its player's payee, or is ErrNoPayee.
func (s *Withdrawals) PaidTo(kind string) *Withdrawals {
	with := *s
	with.payees = kind
	return &with
}

// payeeOf returns the payee for a new withdrawal; "" if there is none.
func (s *Withdrawals) payeeOf(ctx context.Context, tx *sqldb.Tx, user string) (string, error) {
	if s.payees == "" {
		return "", nil
	}
	p, found, err := newestPayee(ctx, tx, user, s.payees, "")
	if err != nil || !found {
		return "", err
	}
	return p.String(), nil
}
