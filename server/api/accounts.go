package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/client/openapi"
	"redrain/internal/auth"
	"redrain/server/clientip"
	"redrain/server/login"
)

// AccountProvider logs players in by redirects. [login.OIDC] and [login.Official] implement it.
type AccountProvider interface {
	// Address returns the address at the provider where the player logs in. With profile, it asks for the nickname.
	Address(state string, a login.Attempt, profile bool) (string, error)
	// Person exchanges the provider's code for the player. Its errors are those of package login, or faults.
	Person(ctx context.Context, a login.Attempt, code string) (auth.Persona, error)
}

// MiniProgram logs players in by the codes that a mini-program gets. [login.WeChat] implements it.
type MiniProgram interface {
	MiniPerson(ctx context.Context, code string) (auth.Persona, error)
}

// Accounts are the providers where players have accounts. Nil ones are off.
type Accounts struct {
	OIDC       AccountProvider
	WeChat     AccountProvider
	WeChatMini MiniProgram
	// Sign signs the address of a page for WeChat's JS-SDK.
	Sign     func(address string) (openapi.WeChatSignature, error) // login.ErrNoTicket
	Attempts *login.Attempts
	Returns  login.Returns // the addresses that a login may return to
	Home     string        // the player's page: where a login returns to unless the caller names another address
}

// The names of providers in the log, and in the lobby.
const (
	byOIDC   = "oidc"
	byWeChat = "wechat"
)

// names returns the names of the providers that a browser can be redirected to.
func (a Accounts) names() []string {
	var names []string
	if a.WeChat != nil {
		names = append(names, byWeChat)
	}
	if a.OIDC != nil {
		names = append(names, byOIDC)
	}
	return names
}

func (a *API) provider(name string) AccountProvider {
	if name == byOIDC {
		return a.o.Accounts.OIDC
	}
	return a.o.Accounts.WeChat
}

// browserCookie is the name of the cookie that binds attempts to a browser. It is sent to the logins' paths only, and
// keeps its value, so that two tabs can log in at once.
const browserCookie = "redrain_login"

// newAccountCounts returns the counter of logins at providers.
func newAccountCounts(reg prometheus.Registerer) *prometheus.CounterVec {
	return newCounts(reg, prometheus.CounterOpts{
		Name: "redrain_logins_total",
		Help: "Logins by WeChat and OpenID Connect, by outcome: done, or the code of the error that the player got.",
	}, "outcome", "done", "banned", "login_busy", "login_denied", "login_expired", "login_failed", "login_refused",
		"login_snapshot")
}

var errLoginOff = refuse(http.StatusForbidden, "login_off", "this server has no such login")

// beginLogin redirects a browser to a provider.
func (a *API) beginLogin(name string) handler {
	return func(q *request) (any, error) {
		provider := a.provider(name)
		if provider == nil {
			return nil, errLoginOff
		}
		back, err := a.o.Accounts.Returns.Parse(cmp.Or(q.query("return"), a.o.Accounts.Home))
		if err != nil {
			return a.toPage(q, a.o.Accounts.Home, refuse(http.StatusBadRequest, "foreign_return", err.Error()))
		}
		if err := a.limitLogins(q); err != nil {
			return a.toPage(q, back.String(), err)
		}
		browser := browserOf(q)
		attempt := login.NewAttempt(name, back.String(), browser)
		state, err := a.o.Accounts.Attempts.Begin(q.Context(), attempt)
		if err != nil {
			return a.toPage(q, back.String(), err)
		}
		address, err := provider.Address(state, attempt, q.query("profile") == "true")
		if err != nil {
			return a.toPage(q, back.String(), a.refuseLogin(name, err))
		}
		//nolint:gosec // Secure where the address is; a page of http: has no other way
		http.SetCookie(q.w, &http.Cookie{Name: browserCookie, Value: browser, Path: Root + "/login",
			MaxAge: int(login.AttemptLife.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode,
			Secure: strings.HasPrefix(a.o.Accounts.Home, "https:")})
		return redirect(q, address)
	}
}

// browserOf returns the value of the browser's cookie, or a new one.
func browserOf(q *request) string {
	if c, err := q.Cookie(browserCookie); err == nil && len(c.Value) == len(rand.Text()) {
		return c.Value
	}
	return rand.Text()
}

// limitLogins refuses a login if its address has too many. It has as many as new guests.
func (a *API) limitLogins(q *request) error {
	if a.o.GuestRate <= 0 {
		return nil
	}
	return a.limit(q, "login", clientip.RequestKey(q.Request), a.o.GuestRate, max(1, a.o.GuestRate*clientip.Burst),
		nil, "too many logins from this address; try again shortly")
}

// finishLogin takes the browser back from a provider. It ends at the address of the attempt, with a code.
func (a *API) finishLogin(name string) handler {
	return func(q *request) (any, error) {
		provider := a.provider(name)
		if provider == nil {
			return nil, errLoginOff
		}
		attempt, err := a.o.Accounts.Attempts.Take(q.Context(), name, cookieOf(q), q.query("state"))
		if err != nil {
			return a.toPage(q, a.o.Accounts.Home, a.refuseLogin(name, err))
		}
		if q.query("code") == "" { // the player, or the provider, said no
			return a.toPage(q, attempt.Return, a.refuseLogin(name, login.ErrDenied))
		}
		who, err := provider.Person(q.Context(), attempt, q.query("code"))
		var pass login.Pass
		if err == nil {
			pass, err = a.admitAccount(q, name, who)
		}
		var code string
		if err == nil {
			code, err = a.o.Logins.Make(q.Context(), pass, login.Life)
		}
		if err != nil {
			return a.toPage(q, attempt.Return, a.refuseLogin(name, err))
		}
		return redirect(q, attempt.Return+"#code="+code)
	}
}

// cookieOf returns the value of the browser's cookie, or "".
func cookieOf(q *request) string {
	c, err := q.Cookie(browserCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// admitAccount mints the token of a player whom a provider has identified.
func (a *API) admitAccount(q *request, provider string, who auth.Persona) (login.Pass, error) {
	if a.o.Banned(who.User) {
		return login.Pass{}, errBannedLogin
	}
	token, expires, err := a.o.Players.Mint(who, loginFor)
	if err != nil {
		return login.Pass{}, err
	}
	a.accounts.WithLabelValues("done").Inc()
	a.o.Log.Info("a player has logged in", "user", who.User, "by", provider, "addr", clientip.RequestKey(q.Request))
	return login.Pass{User: who.User, Token: token, Until: expires.UnixMilli()}, nil
}

// loginErrors is the table from the errors of a login to answers.
var loginErrors = []struct {
	err    error
	status int
	code   string
}{
	{login.ErrNoAttempt, http.StatusBadRequest, "login_expired"},
	{login.ErrDenied, http.StatusForbidden, "login_denied"},
	{login.ErrCodeRefused, http.StatusBadRequest, "login_refused"},
	{login.ErrSnapshot, http.StatusForbidden, "login_snapshot"},
	{login.ErrBusy, http.StatusServiceUnavailable, "login_busy"},
}

// refuseLogin returns the answer to a failed login. A fault of the settings or of the provider is logged.
func (a *API) refuseLogin(provider string, err error) error {
	refusal := problem{Status: http.StatusBadGateway, Code: "login_failed",
		Detail: "the provider has refused this server; the operator finds the reason in the server's log"}
	if p, ok := errors.AsType[*problemError](err); ok {
		refusal = p.problem
	}
	for _, one := range loginErrors {
		if errors.Is(err, one.err) {
			refusal = problem{Status: one.status, Code: one.code, Detail: one.err.Error()}
		}
	}
	switch {
	case refusal.Code == "login_busy":
		a.o.Log.Warn("a login failed for now", "by", provider, "err", err)
	case refusal.Code == "login_failed" && unavailable(err):
		return err // a back end is away
	case refusal.Code == "login_failed":
		a.o.Log.Error("a login has failed; docs/use/login.md explains the errors", "by", provider, "err", err)
	}
	a.accounts.WithLabelValues(refusal.Code).Inc()
	return &problemError{refusal}
}

// toPage shows the error of a login to a person: the page at an address gets its code after #login=. Other clients get
// the error itself.
func (a *API) toPage(q *request, back string, err error) (any, error) {
	if !strings.Contains(q.Header.Get("Accept"), "text/html") {
		return nil, err
	}
	code := "login_busy"
	if p, ok := errors.AsType[*problemError](err); ok {
		code = p.Code
	} else {
		a.o.Log.Warn("a login failed for now", "err", err)
	}
	return redirect(q, back+"#login="+code)
}

// redirect sends a browser to an address.
func redirect(q *request, address string) (any, error) {
	q.w.Header().Set("Cache-Control", "no-store")
	http.Redirect(q.w, q.Request, address, http.StatusFound)
	return nil, nil
}

// loginMini exchanges the code of a mini-program for a player's token.
func (a *API) loginMini(q *request) (any, error) {
	if a.o.Accounts.WeChatMini == nil {
		return nil, errLoginOff
	}
	said, err := bodyOf(q, openapi.LoginWeChatMiniJSONBody{})
	if err != nil {
		return nil, err
	}
	if said.Code == "" {
		return nil, invalid("code", "is required: the code of wx.login")
	}
	if err := a.limitLogins(q); err != nil {
		return nil, err
	}
	who, err := a.o.Accounts.WeChatMini.MiniPerson(q.Context(), said.Code)
	var pass login.Pass
	if err == nil {
		pass, err = a.admitAccount(q, "wechat-mini", who)
	}
	if err != nil {
		return nil, a.refuseLogin("wechat-mini", err)
	}
	return openapi.Guest{User: pass.User, Token: pass.Token, ExpiresAt: pass.Until}, nil
}

// signPage signs the address of one of this server's pages for WeChat's JS-SDK.
func (a *API) signPage(q *request) (any, error) {
	if a.o.Accounts.Sign == nil {
		return nil, errLoginOff
	}
	address := q.query("url")
	if _, err := a.o.Accounts.Returns.Parse(address); err != nil {
		return nil, refuse(http.StatusBadRequest, "foreign_return", err.Error())
	}
	signed, err := a.o.Accounts.Sign(address)
	if err != nil {
		return nil, refuse(http.StatusServiceUnavailable, "unavailable", err.Error())
	}
	return signed, nil
}
