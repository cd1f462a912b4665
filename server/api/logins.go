package api

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/auth"
	"redrain/internal/openapi"
	"redrain/rain"
	"redrain/server/clientip"
	"redrain/server/login"
)

const (
	// codeRate and codeBurst are how many codes a player may have made in a second, and at once.
	codeRate, codeBurst = 0.1, 5
	// wrongCodesAMinute are those of one address. A code cannot be guessed; this bounds what trying costs.
	wrongCodesAMinute = 60
	// loginFor is how long a token is good that is made for a code, where the operator does not say.
	loginFor = 24 * time.Hour
	// maxName is the length of the name that a player is called by, in characters.
	maxName = 64
)

// newLoginCounts counts the outcomes of login codes.
func newLoginCounts(reg prometheus.Registerer) *prometheus.CounterVec {
	return newCounts(reg, prometheus.CounterOpts{
		Name: "redrain_login_codes_total",
		Help: "Login codes, by outcome: made, used (exchanged for a token), refused (used before, expired or made " +
			"up), banned (the player is), too_many (made for one player, or wrong ones of one address).",
	}, "outcome", "made", "used", "refused", "banned", "too_many")
}

// makeLoginCode makes a code that signs a player in: the one whose token asks for it, or one whom an operator names.
func (a *API) makeLoginCode(w http.ResponseWriter, r *http.Request, who caller) error {
	wish, err := bodyOf(w, r, who, openapi.LoginCodeRequest{})
	if err != nil {
		return err
	}
	var pass login.Pass
	if who.user != "" {
		pass, err = a.passOfPlayer(w, r, who, wish)
	} else {
		pass, err = a.passByOperator(wish)
	}
	if err != nil {
		return err
	}
	if a.banned(pass.User) {
		a.logins.WithLabelValues("banned").Inc()
		return errBannedLogin
	}
	now := a.o.Clock()
	life := min(login.Life, time.Duration(pass.Until-now)*time.Millisecond)
	if life <= 0 { // a token is also taken for moments after its end
		return errUnauthorized
	}
	if who.user == "" { // nobody becomes a player whom the audit log does not name
		record := auditRecord(r, who, "login.code", pass.User,
			map[string]any{"name": wish.Name, "token_until": pass.Until})
		if err := a.o.Audit.Audit(r.Context(), record); err != nil {
			return err
		}
	}
	code, err := a.o.Logins.Make(r.Context(), pass, life)
	if err != nil {
		return err
	}
	a.logins.WithLabelValues("made").Inc()
	a.o.Log.Info("a login code was made", "user", pass.User, "by", who.name, "role", who.role, "addr",
		clientip.RequestKey(r))
	WriteJSON(w, http.StatusCreated, openapi.LoginCode{Code: code, ExpiresAt: now + life.Milliseconds(),
		Link: linkOf(code, wish.Campaign)})
	return nil
}

// linkOf is where a code is used, behind the address of the server. What follows # is sent to nobody.
func linkOf(code, campaign string) string {
	link := "/"
	if campaign != "" {
		link += "?campaign=" + url.QueryEscape(campaign)
	}
	return link + "#code=" + code
}

// passOfPlayer is the player's own token: what comes out of the code is what went in, with the same claims and the same
// end.
func (a *API) passOfPlayer(w http.ResponseWriter, r *http.Request, who caller,
	wish openapi.LoginCodeRequest) (login.Pass, error) {
	if wish.User != "" && wish.User != who.user || wish.Name != "" || wish.TTLMS != 0 {
		return login.Pass{}, refuse(http.StatusForbidden, "forbidden",
			"a player's token makes codes for that player and with that token; leave out user, name and ttl_ms")
	}
	ok, after, err := a.o.Limits.Allow(r.Context(), "logincode", who.user, codeRate, codeBurst)
	if err != nil {
		return login.Pass{}, err
	}
	if !ok {
		a.logins.WithLabelValues("too_many").Inc()
		return login.Pass{}, tooMany(w, after, "too many login codes for this player; try again shortly")
	}
	token := auth.Bearer(r)
	grant, err := a.o.Players.Grant(r.Context(), token)
	if err != nil {
		return login.Pass{}, err // it was good a moment ago
	}
	return login.Pass{User: grant.User, Token: token, Until: grant.Until}, nil
}

// passByOperator is a token that is made for a player.
func (a *API) passByOperator(wish openapi.LoginCodeRequest) (login.Pass, error) {
	ttl, least, most := cmp.Or(wish.TTLMS, loginFor.Milliseconds()), login.Life.Milliseconds(), guestFor.Milliseconds()
	var wrong faults
	wrong.checkErr(rain.CheckUser(wish.User), "user", "is required: ")
	wrong.check(utf8.RuneCountInString(wish.Name) <= maxName, "name", "has at most %d characters", maxName)
	wrong.check(wish.Name == "" || utf8.RuneCountInString(wish.Name) > maxName || rain.CheckUser(wish.Name) == nil,
		"name", "is text without control characters, and without characters that are not seen")
	wrong.check(ttl >= least && ttl <= most, "ttl_ms", "is from %d to %d", least, most)
	if err := wrong.err(); err != nil {
		return login.Pass{}, err
	}
	token, expires, err := a.o.Players.MintFor(auth.Persona{User: wish.User, Name: wish.Name},
		time.Duration(ttl)*time.Millisecond)
	if errors.Is(err, auth.ErrNoSecret) {
		return login.Pass{}, refuse(http.StatusConflict, "no_secret",
			"this server signs no players' tokens (it has no --jwt-secret): ask with the player's own token")
	}
	if err != nil {
		return login.Pass{}, err
	}
	return login.Pass{User: wish.User, Token: token, Until: expires.UnixMilli()}, nil
}

// login exchanges a code for the token that it was made for.
func (a *API) login(w http.ResponseWriter, r *http.Request, who caller) error {
	said, err := bodyOf(w, r, who, openapi.LoginJSONBody{})
	if err != nil {
		return err
	}
	if said.Code == "" {
		return rain.Invalid{{Field: "code", Message: "is required: what a link has behind #code="}}
	}
	pass, err := a.o.Logins.Take(r.Context(), said.Code)
	if err == nil && pass.Until <= a.o.Clock() {
		err = login.ErrNoCode
	}
	switch {
	case errors.Is(err, login.ErrNoCode):
		return a.refuseCode(w, r)
	case err != nil:
		return err
	case a.banned(pass.User):
		a.logins.WithLabelValues("banned").Inc()
		return errBannedLogin
	}
	a.logins.WithLabelValues("used").Inc()
	a.o.Log.Info("a login code was used", "user", pass.User, "addr", clientip.RequestKey(r))
	return answer(w, openapi.Guest{User: pass.User, Token: pass.Token, ExpiresAt: pass.Until}, nil)
}

// refuseCode answers a request whose code is worth nothing. Only those are slowed: a hall behind one address may all
// come in by links at once.
func (a *API) refuseCode(w http.ResponseWriter, r *http.Request) error {
	if ok, after := a.allowed(r.Context(), "wrong-code", clientip.RequestKey(r), wrongCodesAMinute); !ok && after > 0 {
		a.logins.WithLabelValues("too_many").Inc()
		return tooMany(w, after, "too many codes from this address that were used or have expired; try again shortly")
	}
	a.logins.WithLabelValues("refused").Inc()
	a.o.Log.Info("a login code was refused: it was used before, has expired, or was never given", "addr",
		clientip.RequestKey(r))
	return refuse(http.StatusGone, "code_used_or_expired",
		"this code was used before or has expired; a code works once, within two minutes: ask for a new link")
}

// banned tells whether a player is banned, as far as this node knows.
func (a *API) banned(user string) bool { return a.o.Banned != nil && a.o.Banned(user) }

var errBannedLogin = refuse(http.StatusForbidden, "banned", "this player is banned, and cannot sign in")

// SignIn is the identity provider that operators can sign in at.
type SignIn struct {
	Issuer, ClientID string
	Discovered       func() *auth.Discovery // nil while it has not answered yet
}

// signInScope is what a console asks the provider for.
const signInScope = "openid profile email"

func (a *API) signIn(w http.ResponseWriter, _ *http.Request, _ caller) error {
	var view openapi.SignInConfig
	if s := a.o.SignIn; s != nil {
		view.OIDC = &openapi.IdentityProvider{Issuer: s.Issuer, ClientID: s.ClientID, Scope: signInScope}
		if d := s.Discovered(); d != nil {
			view.OIDC.AuthorizationEndpoint, view.OIDC.TokenEndpoint = d.AuthorizationEndpoint, d.TokenEndpoint
		}
	}
	return answer(w, view, nil)
}

func (a *API) whoami(w http.ResponseWriter, _ *http.Request, who caller) error {
	rights := make([]string, len(who.rights))
	for i, r := range who.rights {
		rights[i] = string(r)
	}
	return answer(w, openapi.WhoAmI{
		Name: who.name, Role: who.role, Rights: rights, Shared: who.operator.Shared, Version: a.o.Version,
		ServerTime: a.o.Clock(), InProcess: a.o.InProcess, Guests: a.o.Guests,
	}, nil)
}
