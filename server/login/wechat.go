package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"redrain/internal/auth"
)

// WeChat is a client of WeChat's interface for one app: an official account (服务号), or a mini-program.
type WeChat struct{ o WeChatOptions }

// WeChatOptions are the settings of a WeChat. All are required unless stated otherwise.
type WeChatOptions struct {
	Endpoint   string // https://api.weixin.qq.com
	App        string // the app id
	Secret     func() string
	HTTPClient *http.Client // nil: a client of its own
}

// NewWeChat returns a client.
func NewWeChat(o WeChatOptions) *WeChat {
	if o.HTTPClient == nil {
		o.HTTPClient = newClient()
	}
	o.Endpoint = strings.TrimSuffix(o.Endpoint, "/")
	return &WeChat{o}
}

// mostWeChat is the limit of an answer, in bytes.
const mostWeChat = 64 << 10

// fault is the part of an answer that reports an error. WeChat answers errors with status 200.
type fault struct {
	Code    int    `json:"errcode"`
	Message string `json:"errmsg"`
}

// err returns the error of an answer; nil if it is none
// (https://developers.weixin.qq.com/doc/oplatform/developers/errCode/errCode.html).
func (f fault) err() error {
	switch f.Code {
	case 0:
		return nil
	case 40029, 40163, 41008, 42003: // invalid code, used before, missing, expired
		return ErrCodeRefused
	case -1, 45009, 45011: // the system is busy, limit of the day, limit of the minute
		return fmt.Errorf("%w (errcode %d)", ErrBusy, f.Code)
	case 40226: // WeChat judges that the user is a high risk
		return ErrDenied
	default:
		return fmt.Errorf("errcode %d: %s", f.Code, f.Message)
	}
}

// call sends a request with a JSON body, or without one, and reads the answer. Its errors contain neither the address,
// which has the secret or an openid in it, nor the answer.
func (w *WeChat) call(ctx context.Context, path string, query url.Values, body, answer any) error {
	method, text := http.MethodGet, ""
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("write a request to WeChat: %w", err)
		}
		method, text = http.MethodPost, string(encoded)
	}
	err := w.send(ctx, method, w.o.Endpoint+path+"?"+query.Encode(), text, answer)
	if hidden, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%w: %s: %w", ErrBusy, path, hidden.Err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (w *WeChat) send(ctx context.Context, method, address, body string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := w.o.HTTPClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: status %d", ErrBusy, resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostWeChat))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	var said fault
	if err := json.Unmarshal(text, &said); err != nil {
		return errors.New("the answer is not JSON")
	}
	if err := said.err(); err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// persona returns the player with an openid.
func (w *WeChat) persona(openid string) (auth.Persona, error) {
	if openid == "" {
		return auth.Persona{}, errors.New("WeChat answers without an openid")
	}
	return auth.Persona{User: playerOf("wx", w.o.App, openid),
		Payee: map[string]string{"wechat": w.o.App + ":" + openid}}, nil
}

// MiniPerson exchanges the code of a mini-program's wx.login for the player
// (https://developers.weixin.qq.com/miniprogram/dev/OpenApiDoc/user-login/code2Session.html).
func (w *WeChat) MiniPerson(ctx context.Context, code string) (auth.Persona, error) {
	var session struct {
		OpenID string `json:"openid"`
	}
	err := w.call(ctx, "/sns/jscode2session", url.Values{"appid": {w.o.App}, "secret": {w.o.Secret()},
		"js_code": {code}, "grant_type": {"authorization_code"}}, nil, &session)
	if err != nil {
		return auth.Persona{}, err
	}
	return w.persona(session.OpenID)
}

// Official logs players in by an official account, inside WeChat
// (https://developers.weixin.qq.com/doc/service/guide/h5/auth.html).
type Official struct {
	*WeChat

	Callback string // the address that WeChat returns to
}

const authorize = "https://open.weixin.qq.com/connect/oauth2/authorize"

// The scopes of a login. WeChat shows no question for the first, and one for the second. The second may be used only
// after a press, or WeChat shows a snapshot of the page.
const (
	scopeBase    = "snsapi_base"
	scopeProfile = "snsapi_userinfo"
)

// Address returns the address at WeChat where the player logs in. WeChat requires this order of the parameters.
func (o Official) Address(state string, _ Attempt, profile bool) (string, error) {
	scope := scopeBase
	if profile {
		scope = scopeProfile
	}
	query := url.Values{"appid": {o.o.App}, "redirect_uri": {o.Callback}, "response_type": {"code"}, "scope": {scope},
		"state": {state}}
	return authorize + "?" + query.Encode() + "#wechat_redirect", nil // Encode sorts by name
}

// Person exchanges WeChat's code for the player. If the player has allowed it, the nickname and the picture come too;
// without them the login counts as well.
func (o Official) Person(ctx context.Context, _ Attempt, code string) (auth.Persona, error) {
	var grant struct {
		Token    string `json:"access_token"`
		OpenID   string `json:"openid"`
		Scope    string `json:"scope"`
		Snapshot int    `json:"is_snapshotuser"`
	}
	err := o.call(ctx, "/sns/oauth2/access_token", url.Values{"appid": {o.o.App}, "secret": {o.o.Secret()},
		"code": {code}, "grant_type": {"authorization_code"}}, nil, &grant)
	if err != nil {
		return auth.Persona{}, err
	}
	if grant.Snapshot != 0 { // the openid has no owner: money paid to it would be lost
		return auth.Persona{}, ErrSnapshot
	}
	who, err := o.persona(grant.OpenID)
	if err != nil || !strings.Contains(grant.Scope, scopeProfile) {
		return who, err
	}
	var profile struct {
		Nickname string `json:"nickname"`
		Picture  string `json:"headimgurl"`
	}
	if o.call(ctx, "/sns/userinfo", url.Values{"access_token": {grant.Token}, "openid": {grant.OpenID},
		"lang": {"zh_CN"}}, nil, &profile) == nil {
		who.Nickname, who.Picture = profile.Nickname, profile.Picture
	}
	return who, nil
}

// Ticket fetches the account's jsapi_ticket, and its life
// (https://developers.weixin.qq.com/doc/service/api/base/api_getstableaccesstoken.html,
// https://developers.weixin.qq.com/doc/service/guide/h5/jssdk.html). The stable token leaves the tokens of the
// operator's other systems valid.
func (w *WeChat) Ticket(ctx context.Context) (ticket string, life time.Duration, err error) {
	var grant struct {
		Token string `json:"access_token"`
	}
	body := map[string]any{"grant_type": "client_credential", "appid": w.o.App, "secret": w.o.Secret()}
	if err := w.call(ctx, "/cgi-bin/stable_token", nil, body, &grant); err != nil {
		return "", 0, err
	}
	var answer struct {
		Ticket  string `json:"ticket"`
		Expires int64  `json:"expires_in"` // seconds
	}
	err = w.call(ctx, "/cgi-bin/ticket/getticket", url.Values{"access_token": {grant.Token}, "type": {"jsapi"}}, nil,
		&answer)
	if err == nil && (answer.Ticket == "" || answer.Expires <= 0) {
		err = errors.New("WeChat answers without a ticket")
	}
	return answer.Ticket, time.Duration(answer.Expires) * time.Second, err
}
