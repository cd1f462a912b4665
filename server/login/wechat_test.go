package login_test

import (
	"errors"
	"strings"
	"testing"

	"redrain/internal/auth"
	"redrain/internal/sandbox/wechatlogin"
	"redrain/internal/testenv"
	"redrain/server/login"
)

const app, appSecret = "wx8888888888888888", "the-secret-of-the-app"

// sandbox is a sandbox of WeChat, and a client that has a secret.
func sandbox(t *testing.T, secret string) (*wechatlogin.Server, *login.WeChat) {
	t.Helper()
	w := wechatlogin.New(app, appSecret)
	t.Cleanup(w.Close)
	return w, login.NewWeChat(login.WeChatOptions{Endpoint: w.URL, App: app,
		Secret: func() string { return secret }, HTTPClient: w.Client()})
}

// TestWeChatLogins: an account is always the same player, and the id of the player does not show it.
func TestWeChatLogins(t *testing.T) {
	w, client := sandbox(t, appSecret)
	official := login.Official{WeChat: client}
	person := func(u wechatlogin.User) (auth.Persona, error) {
		return official.Person(t.Context(), login.Attempt{}, w.Code(u))
	}
	ann := wechatlogin.User{OpenID: "oAnn-42", Nickname: "小雨", Picture: "https://thirdwx.qlogo.cn/a"}
	base := testenv.Got(person(ann)).Must(t)
	if base.Nickname != "" || base.Picture != "" || base.Payee["wechat"] != app+":oAnn-42" ||
		!strings.HasPrefix(base.User, "wx-") || strings.Contains(strings.ToLower(base.User), "ann") {
		t.Errorf("%+v", base)
	}
	ann.HasAllowed = true
	full := testenv.Got(person(ann)).Must(t)
	if full.User != base.User || full.Nickname != "小雨" || full.Picture != ann.Picture {
		t.Errorf("%+v, want the user of %+v", full, base)
	}
	mini := testenv.Got(client.MiniPerson(t.Context(), w.Code(ann))).Must(t)
	testenv.Equal(t, mini.User, base.User, "the player of the same app")
	bob := testenv.Got(person(wechatlogin.User{OpenID: "oBob"})).Must(t)
	if bob.User == base.User {
		t.Error("two accounts are one player")
	}
	testenv.WantErr(t, testenv.Err(person(wechatlogin.User{OpenID: "oSnap", IsSnapshot: true})), login.ErrSnapshot)
}

// TestWeChatErrors: each kind of error has its own answer, and none shows the secret or an openid.
func TestWeChatErrors(t *testing.T) {
	w, client := sandbox(t, appSecret)
	official := login.Official{WeChat: client}
	code := w.Code(wechatlogin.User{OpenID: "oAnn-42"})
	testenv.Must(t, testenv.Err(client.MiniPerson(t.Context(), code)))
	testenv.WantErr(t, testenv.Err(client.MiniPerson(t.Context(), code)), login.ErrCodeRefused, "replayed: 40163")
	testenv.WantErr(t, testenv.Err(client.MiniPerson(t.Context(), "forged")), login.ErrCodeRefused, "forged: 40029")
	for errcode, want := range map[int]error{40029: login.ErrCodeRefused, 40163: login.ErrCodeRefused,
		-1: login.ErrBusy, 45011: login.ErrBusy, 40226: login.ErrDenied, 40013: nil, 40164: nil} {
		w.Fail(errcode)
		for _, err := range []error{
			testenv.Err(official.Person(t.Context(), login.Attempt{}, "code")),
			testenv.Err(client.MiniPerson(t.Context(), "code")),
		} {
			known := errors.Is(err, login.ErrBusy) || errors.Is(err, login.ErrCodeRefused) ||
				errors.Is(err, login.ErrDenied)
			if err == nil || known != (want != nil) || want != nil && !errors.Is(err, want) {
				t.Errorf("%d: %v, want %v", errcode, err, want)
			}
		}
	}
	w.Fail(0)
	_, stranger := sandbox(t, "a-wrong-secret")
	if _, err := stranger.MiniPerson(t.Context(), "code"); err == nil || !strings.Contains(err.Error(), "40125") ||
		strings.Contains(err.Error(), "a-wrong-secret") {
		t.Errorf("with a wrong secret: %v", err)
	}
	w.Close()
	_, err := official.Person(t.Context(), login.Attempt{}, "code")
	testenv.WantErr(t, err, login.ErrBusy, "away")
	if strings.Contains(err.Error(), appSecret) || strings.Contains(err.Error(), "http://") {
		t.Errorf("the error shows the request: %v", err)
	}
}

// TestTheAddressAtWeChat has its parameters in the order that WeChat requires.
func TestTheAddressAtWeChat(t *testing.T) {
	_, client := sandbox(t, appSecret)
	official := login.Official{WeChat: client, Callback: "https://rain.example/api/v1/login/wechat/callback"}
	const begin = "https://open.weixin.qq.com/connect/oauth2/authorize?appid=" + app + "&redirect_uri=" +
		"https%3A%2F%2Frain.example%2Fapi%2Fv1%2Flogin%2Fwechat%2Fcallback&response_type=code&scope="
	for profile, scope := range map[bool]string{false: "snsapi_base", true: "snsapi_userinfo"} {
		testenv.Got(official.Address("S1", login.Attempt{}, profile)).Want(t, begin+scope+"&state=S1#wechat_redirect",
			"the address")
	}
}
