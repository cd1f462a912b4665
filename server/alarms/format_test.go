package alarms

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"redrain/client/openapi"
	"redrain/internal/signed"
	"redrain/internal/testenv"
)

// secret signs the posts of the format standard in tests.
const secret = "whsec_cmVkcmFpbi10ZXN0LXNlY3JldC1vZi0zMi1ieXRlcyE="

// receiver is an address of the test's own.
type receiver struct {
	*httptest.Server

	request *http.Request // the last one
	body    []byte
	status  int
	answer  string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusOK, answer: `{"errcode":0,"errmsg":"ok"}`}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.request = req
		r.body, _ = io.ReadAll(req.Body)
		w.WriteHeader(r.status)
		_, _ = io.WriteString(w, r.answer)
	}))
	t.Cleanup(r.Close)
	return r
}

// raised and ended are the messages of these tests.
var (
	raised = message{step: stepRaise, at: 1763712000000, OpenAlarm: openapi.OpenAlarm{Code: "forged", Campaign: "c1",
		Message: "a <b>[link](x)</b> of @all", Since: 1763711990000, At: 1763711995000, Times: 2}}
	ended = message{step: stepEnd, at: 1763712000000, endedAt: 1763711999000, OpenAlarm: openapi.OpenAlarm{
		Code: "unpaid", Message: "33 s", Since: 1763711990000, At: 1763711995000, Times: 1}}
)

// TestFormats: the address and the body of each format, with and without a secret.
func TestFormats(t *testing.T) {
	t.Parallel()
	const raisedText = `a ＜b＞［link］(x)＜/b＞ of ＠all\n活动：c1\n开始：2025-11-21 07:59:50 UTC\n次数：2\n集群：rr`
	const endedText = `33 s\n开始：2025-11-21 07:59:50 UTC\n结束：2025-11-21 07:59:59 UTC\n集群：rr`
	for name, c := range map[string]struct {
		format, secret string
		message        message
		uri, body      string
	}{
		"dingtalk": {DingTalk, "", raised, "/hook?access_token=x",
			`{"msgtype":"text","text":{"content":"redrain 告警：forged\n` + raisedText + `"}}`},
		"dingtalk with a secret": {DingTalk, "SECabc", ended,
			"/hook?access_token=x&sign=7yqaCLdNhZere56Beq7ODDNoRVSJBG31FTLLcgzGY%2FY%3D&timestamp=1763712000000",
			`{"msgtype":"text","text":{"content":"redrain 已恢复：unpaid\n` + endedText + `"}}`},
		"feishu": {Feishu, "", ended, "/hook?access_token=x",
			`{"content":{"text":"redrain 已恢复：unpaid\n` + endedText + `"},"msg_type":"text"}`},
		"feishu with a secret": {Feishu, "SECabc", raised, "/hook?access_token=x",
			`{"content":{"text":"redrain 告警：forged\n` + raisedText + `"},"msg_type":"text",` +
				`"sign":"/mOJAMXI0BfMNjJwg6LAM0RMq+f18Dox/t6O7p1i9es=","timestamp":"1763712000"}`},
		"wecom": {WeCom, "", raised, "/hook?access_token=x", `{"markdown":{"content":` +
			`"**<font color=\"warning\">redrain 告警：forged</font>**\n` + raisedText + `"},"msgtype":"markdown"}`},
		"alertmanager": {Alertmanager, "", raised, "/hook/api/v2/alerts?access_token=x", `[{"labels":` +
			`{"alertname":"redrain_alarm","campaign":"c1","code":"forged","installation":"rr"},` +
			`"annotations":{"summary":"a <b>[link](x)</b> of @all"},` +
			`"startsAt":"2025-11-21T07:59:50.000Z","endsAt":"2025-11-21T08:05:00.000Z"}]`},
		"alertmanager's end": {Alertmanager, "", ended, "/hook/api/v2/alerts?access_token=x", `[{"labels":` +
			`{"alertname":"redrain_alarm","code":"unpaid","installation":"rr"},"annotations":{"summary":"33 s"},` +
			`"startsAt":"2025-11-21T07:59:50.000Z","endsAt":"2025-11-21T07:59:59.000Z"}]`},
	} {
		to := newReceiver(t)
		c2, err := newChannel(Options{URL: to.URL + "/hook?access_token=x", Format: c.format, Name: "rr",
			Secret: func() string { return c.secret }})
		testenv.Must(t, err)
		testenv.WantErr(t, c2.post(t.Context(), c.message), nil, name)
		testenv.Equal(t, to.request.URL.RequestURI(), c.uri, "%s: the address", name)
		var got any
		testenv.Must(t, json.Unmarshal(to.body, &got))
		var want any
		testenv.Must(t, json.Unmarshal([]byte(c.body), &want))
		testenv.Equal(t, got, want, "%s: the body", name)
		c2.close()
	}
}

// TestStandard: a post is a CloudEvent, signed as a Standard Webhook.
func TestStandard(t *testing.T) {
	t.Parallel()
	to := newReceiver(t)
	to.answer = ""
	c, err := newChannel(Options{URL: to.URL, Format: Standard, Name: "https://rain.example",
		Secret: func() string { return secret }, Clock: func() int64 { return 1763712000000 }})
	testenv.Must(t, err)
	defer c.close()
	key, err := signed.ParseSecret(secret)
	testenv.Must(t, err)
	ids := map[string]bool{}
	for want, m := range map[string]message{
		`"type":"redrain.alarm.raised","subject":"forged","time":"2025-11-21T07:59:55.000Z",` +
			`"datacontenttype":"application/json","data":{`: raised,
		`"type":"redrain.alarm.ended","subject":"unpaid","time":"2025-11-21T07:59:59.000Z",` +
			`"datacontenttype":"application/json","data":{`: ended,
	} {
		for range 2 { // the id is the same at each try
			testenv.Must(t, c.post(t.Context(), m))
			testenv.WantErr(t, signed.Verify(key, to.request.Header, to.body, time.Unix(1763712000, 0)), nil)
			testenv.Equal(t, to.request.Header.Get("Content-Type"), "application/cloudevents+json", "its type")
			id := to.request.Header.Get("Webhook-Id")
			ids[id] = true
			testenv.Contains(t, string(to.body), `{"specversion":"1.0","id":"`+id+`","source":"https://rain.example",`+
				want, "the event")
			var e struct {
				Data openapi.OpenAlarm `json:"data"`
			}
			testenv.Must(t, json.Unmarshal(to.body, &e))
			testenv.Equal(t, e.Data, m.OpenAlarm, "its data")
		}
	}
	testenv.Equal(t, len(ids), 2, "ids of two messages")
}

// TestRefusedPosts: an answer that is no success fails the post, and the error does not repeat the address.
func TestRefusedPosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		format string
		status int
		answer string
	}{
		"standard, 500":               {Standard, 500, ""},
		"alertmanager, 400":           {Alertmanager, 400, "bad"},
		"a redirect":                  {Alertmanager, 307, ""},
		"dingtalk, an error code":     {DingTalk, 200, `{"errcode":310000,"errmsg":"sign not match"}`},
		"feishu, an error code":       {Feishu, 200, `{"code":19021,"msg":"sign match fail"}`},
		"wecom, an error code":        {WeCom, 200, `{"errcode":45009,"errmsg":"api freq out of limit"}`},
		"wecom, a page":               {WeCom, 200, "<html>"},
		"feishu, another status":      {Feishu, 502, `{"code":0}`},
		"dingtalk, an empty answer":   {DingTalk, 200, ""},
		"alertmanager, no such route": {Alertmanager, 404, ""},
	} {
		to := newReceiver(t)
		to.status, to.answer = c.status, c.answer
		key := ""
		if c.format == Standard {
			key = secret
		}
		ch, err := newChannel(Options{URL: to.URL + "/hunter2", Format: c.format, Clock: time.Now().UnixMilli,
			Secret: func() string { return key }})
		testenv.Must(t, err)
		err = ch.post(t.Context(), raised)
		testenv.WantFail(t, err, name)
		to.Close()
		gone := ch.post(t.Context(), raised)
		testenv.WantFail(t, gone, name, "without a receiver")
		if strings.Contains(err.Error()+gone.Error(), "hunter2") {
			t.Errorf("%s: %v, %v", name, err, gone)
		}
		ch.close()
	}
}

// TestLongMessages: a long message is cut between two characters, so that each chat takes it.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	to := newReceiver(t)
	c, err := newChannel(Options{URL: to.URL, Format: WeCom, Secret: func() string { return "" }})
	testenv.Must(t, err)
	defer c.close()
	long := raised
	long.Message = "x" + strings.Repeat("红", 2000)
	testenv.Must(t, c.post(t.Context(), long))
	var body struct {
		Markdown struct {
			Content string `json:"content"`
		} `json:"markdown"`
	}
	testenv.Must(t, json.Unmarshal(to.body, &body))
	if n := len(body.Markdown.Content); n < mostText || n > 4096 || strings.Contains(body.Markdown.Content, "\ufffd") {
		t.Errorf("%d bytes: %.20s…", n, body.Markdown.Content)
	}
}

// TestCheck: each format has its own demands on address and secret.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format, address, secret string
		badURL, badSecret       bool
	}{
		{Standard, "https://a.example/x", secret, false, false},
		{Standard, "http://a.example/x", secret, true, false},
		{Standard, "https://a.example/x", "", false, true},
		{DingTalk, "https://oapi.dingtalk.com/robot/send?access_token=x", "", false, false},
		{DingTalk, "http://oapi.dingtalk.com/robot/send?access_token=x", "SEC1", true, false},
		{Feishu, "https://open.feishu.cn/open-apis/bot/v2/hook/x", "s", false, false},
		{WeCom, "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=x", "", false, false},
		{WeCom, "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=x", "s", false, true},
		{Alertmanager, "http://alertmanager:9093", "", false, false},
		{Alertmanager, "alertmanager:9093", "s", true, true},
	} {
		badURL, badSecret := Check(c.format, c.address, c.secret)
		if (badURL != nil) != c.badURL || (badSecret != nil) != c.badSecret {
			t.Errorf("%s %s %q: %v, %v", c.format, c.address, c.secret, badURL, badSecret)
		}
	}
}
