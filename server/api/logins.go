package api

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/client/openapi"
	"redrain/internal/auth"
	"redrain/rain"
	"redrain/server/clientip"
	"redrain/server/login"
)

const (
	// codeRate and codeBurst limit a player's codes, per second and in a burst.
	codeRate, codeBurst = 0.1, 5
	// wrongCodesAMinute is the limit of an address. A code cannot be guessed; the limit bounds the cost of trying.
	wrongCodesAMinute = 60
	// loginFor is the default life of a token that is created for a code.
	loginFor = 24 * time.Hour
	// maxName is the length limit of a player's name, in characters.
	maxName = 64
)

// newLoginCounts returns the counter of login codes.
func newLoginCounts(reg prometheus.Registerer) *prometheus.CounterVec {
	return newCounts(reg, prometheus.CounterOpts{
		Name: "redrain_login_codes_total",
		Help: "Login codes, by outcome: made, used (exchanged for a token), refused (used before, expired or made " +
			"up), banned (the player is), too_many (made for one player, or wrong ones of one address).",
	}, "outcome", "made", "used", "refused", "banned", "too_many")
}

// makeLoginCode creates a code that signs a player in: the caller, or a player whom an operator names.
func (a *API) makeLoginCode(q *request) (any, error) {
	wish, err := bodyOf(q, openapi.LoginCodeRequest{})
	if err != nil {
		return nil, err
	}
	passOf := a.passByOperator
	if q.user != "" {
		passOf = a.passOfPlayer
	}
	pass, err := passOf(q, wish)
	if err != nil {
		return nil, err
	}
	if a.o.Banned(pass.User) {
		a.logins.WithLabelValues("banned").Inc()
		return nil, errBannedLogin
	}
	now := a.o.Clock()
	life := min(login.Life, time.Duration(pass.Until-now)*time.Millisecond)
	if life <= 0 { // a token is accepted for moments after its expiry
		return nil, errUnauthorized
	}
	if q.user == "" { // each sign-in as another player is in the audit log
		record := q.record("login.code", pass.User, detail{"name": wish.Name, "token_until": pass.Until})
		if err := a.o.Audit.Audit(q.Context(), record); err != nil {
			return nil, err
		}
	}
	code, err := a.o.Logins.Make(q.Context(), pass, life)
	if err != nil {
		return nil, err
	}
	a.logins.WithLabelValues("made").Inc()
	a.o.Log.InfoContext(q.Context(), "a login code was made", "user", pass.User, "by", q.name, "role", q.role, "addr",
		clientip.RequestKey(q.Request))
	return created(openapi.LoginCode{Code: code, ExpiresAt: now + life.Milliseconds(),
		Link: linkOf(code, wish.Campaign)}), nil
}

// linkOf returns the path of a code's link. A browser does not send the part after #.
func linkOf(code, campaign string) string {
	link := "/"
	if campaign != "" {
		link += "?campaign=" + url.QueryEscape(campaign)
	}
	return link + "#code=" + code
}

// passOfPlayer returns a pass with the player's own token, with the same claims and expiry.
func (a *API) passOfPlayer(q *request, wish openapi.LoginCodeRequest) (login.Pass, error) {
	if wish.User != "" && wish.User != q.user || wish.Name != "" || wish.TTLMS != 0 {
		return login.Pass{}, refuse(http.StatusForbidden, "forbidden",
			"a player's token makes codes for that player and with that token; leave out user, name and ttl_ms")
	}
	if err := a.limit(q, "logincode", q.user, codeRate, codeBurst, a.logins.WithLabelValues("too_many"),
		"too many login codes for this player; try again shortly"); err != nil {
		return login.Pass{}, err
	}
	token := auth.Bearer(q.Request)
	grant, err := a.o.Players.Grant(q.Context(), token)
	return login.Pass{User: grant.User, Token: token, Until: grant.Until}, err
}

// passByOperator returns a pass with a new token for a player.
func (a *API) passByOperator(_ *request, wish openapi.LoginCodeRequest) (login.Pass, error) {
	ttl, least, most := cmp.Or(wish.TTLMS, loginFor.Milliseconds()), login.Life.Milliseconds(), guestFor.Milliseconds()
	var wrong faults
	wrong.checkErr(rain.CheckPlayer(wish.User), "user", "is required: ")
	wrong.check(utf8.RuneCountInString(wish.Name) <= maxName, "name", "has at most %d characters", maxName)
	wrong.check(wish.Name == "" || utf8.RuneCountInString(wish.Name) > maxName || rain.CheckUser(wish.Name) == nil,
		"name", "is text without control characters, and without characters that are not seen")
	wrong.check(ttl >= least && ttl <= most, "ttl_ms", "is from %d to %d", least, most)
	if err := wrong.err(); err != nil {
		return login.Pass{}, err
	}
	token, expires, err := a.o.Players.Mint(auth.Persona{User: wish.User, Name: wish.Name},
		time.Duration(ttl)*time.Millisecond)
	if errors.Is(err, auth.ErrNoSecret) {
		return login.Pass{}, refuse(http.StatusConflict, "no_secret",
			"this server signs no players' tokens (it has no --jwt-secret): ask with the player's own token")
	}
	return login.Pass{User: wish.User, Token: token, Until: expires.UnixMilli()}, err
}

// login exchanges a code for its token.
func (a *API) login(q *request) (any, error) {
	said, err := bodyOf(q, openapi.LoginJSONBody{})
	if err != nil {
		return nil, err
	}
	if said.Code == "" {
		return nil, invalid("code", "is required: what a link has behind #code=")
	}
	pass, err := a.o.Logins.Take(q.Context(), said.Code)
	switch {
	case errors.Is(err, login.ErrNoCode), err == nil && pass.Until <= a.o.Clock():
		return nil, a.refuseCode(q)
	case err != nil:
		return nil, err
	case a.o.Banned(pass.User):
		a.logins.WithLabelValues("banned").Inc()
		return nil, errBannedLogin
	}
	a.logins.WithLabelValues("used").Inc()
	a.o.Log.InfoContext(q.Context(), "a login code was used", "user", pass.User, "addr", clientip.RequestKey(q.Request))
	return openapi.Guest{User: pass.User, Token: pass.Token, ExpiresAt: pass.Until}, nil
}

// refuseCode answers a request with an invalid code. Only those are limited: all players of a hall may sign in by links
// at once.
func (a *API) refuseCode(q *request) error {
	address := clientip.RequestKey(q.Request)
	ok, after := a.allowed(q.Context(), "wrong-code", address, wrongCodesAMinute)
	if !ok && after > 0 {
		a.logins.WithLabelValues("too_many").Inc()
		return q.tooMany(after, "too many codes from this address that were used or have expired; try again shortly")
	}
	a.logins.WithLabelValues("refused").Inc()
	if ok {
		a.o.Log.InfoContext(q.Context(), "refuse a login code: it was used before, has expired, or never existed",
			"addr", address)
	}
	return refuse(http.StatusGone, "code_used_or_expired",
		"this code was used before or has expired; a code works once, within two minutes: ask for a new link")
}

var errBannedLogin = refuse(http.StatusForbidden, "banned", "this player is banned, and cannot sign in")

// SignIn is the identity provider for operators.
type SignIn struct {
	Issuer, ClientID string
	Discovered       func() *auth.Discovery // returns nil until it has answered
}

// signInScope is the scope that a console requests.
const signInScope = "openid profile email"

func (a *API) signIn(*request) (any, error) {
	var view openapi.SignInConfig
	if s := a.o.SignIn; s != nil {
		view.OIDC = &openapi.IdentityProvider{Issuer: s.Issuer, ClientID: s.ClientID, Scope: signInScope}
		if d := s.Discovered(); d != nil {
			view.OIDC.AuthorizationEndpoint, view.OIDC.TokenEndpoint = d.AuthorizationEndpoint, d.TokenEndpoint
		}
	}
	return view, nil
}

func (a *API) whoami(q *request) (any, error) {
	return openapi.WhoAmI{
		Name: q.name, Role: q.role, Rights: q.rights, Shared: q.operator.Shared, Version: a.o.Version,
		ServerTime: a.o.Clock(), InProcess: a.o.InProcess, Guests: a.o.Guests,
	}, nil
}
