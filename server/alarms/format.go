package alarms

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"redrain/client/openapi"
	"redrain/internal/signed"
)

// The formats of posts.
const (
	Standard     = "standard"     // CloudEvents, signed as Standard Webhooks
	DingTalk     = "dingtalk"     // 钉钉
	Feishu       = "feishu"       // 飞书
	WeCom        = "wecom"        // 企业微信
	Alertmanager = "alertmanager" // of Prometheus, API v2
)

// Check returns the faults of an address and a secret for a format. It repeats neither, because both are secret.
func Check(format, address, secret string) (badURL, badSecret error) {
	badURL = signed.CheckURL(address)
	switch format {
	case Standard:
		_, badSecret = signed.ParseSecret(secret)
	case Alertmanager: // usually in the same network, and without TLS
		if u, err := url.Parse(address); badURL != nil && err == nil && u.Scheme == "http" && u.Host != "" {
			badURL = nil
		}
		fallthrough
	case WeCom:
		if secret != "" {
			badSecret = errors.New("this format has no signature; leave it out")
		}
	}
	return badURL, badSecret
}

// message is the raise or the end of an alarm.
type message struct {
	openapi.OpenAlarm

	step    step
	at      int64 // of this post, Unix ms
	endedAt int64 // Unix ms; 0: it is open
}

// channel posts messages in one format.
type channel struct {
	resend time.Duration // interval of posts about an alarm that is open; 0: none
	post   func(ctx context.Context, m message) error
	close  func()
}

const (
	mostAnswer = 64 << 10 // bytes
	mostText   = 3000     // bytes of an alarm's message; WeCom takes 4096 in all
	resend     = time.Minute
	// resolved is the time after which Alertmanager ends an alarm that is not posted again.
	resolved = 5 * time.Minute
)

func newChannel(o Options) (channel, error) {
	if err := errors.Join(Check(o.Format, o.URL, o.Secret())); err != nil {
		return channel{}, err
	}
	if o.Format == Standard {
		return o.standard()
	}
	client := signed.NewClient(signed.ClientOptions{Most: mostAnswer, TLS: o.TLS})
	c := channel{close: client.Close}
	encode, check := o.encoder(), checkChat
	if o.Format == Alertmanager {
		c.resend, check = resend, checkStatus
	}
	c.post = func(ctx context.Context, m message) error {
		address, content := encode(m)
		body, err := json.Marshal(content)
		if err != nil {
			return err
		}
		answer, err := client.Post(ctx, address, body, nil)
		if err != nil {
			return err
		}
		return check(answer)
	}
	return c, nil
}

// encoder returns the function that makes the address and the body of a post.
func (o *Options) encoder() func(m message) (address string, body any) {
	return map[string]func(message) (string, any){
		DingTalk: o.dingTalk, Feishu: o.feishu, WeCom: o.weCom, Alertmanager: o.alertmanager,
	}[o.Format]
}

// checkStatus refuses an answer outside 2xx.
func checkStatus(a signed.Answer) error {
	if a.Status < 200 || a.Status > 299 {
		return fmt.Errorf("status %d: %.200q", a.Status, a.Body)
	}
	return nil
}

// checkChat refuses an answer with an error code. DingTalk and WeCom have errcode, Feishu has code; 0 is success.
func checkChat(a signed.Answer) error {
	if err := checkStatus(a); err != nil {
		return err
	}
	var said struct {
		ErrCode int `json:"errcode"`
		Code    int `json:"code"`
	}
	if err := json.Unmarshal(a.Body, &said); err != nil || said.ErrCode != 0 || said.Code != 0 {
		return fmt.Errorf("the receiver refuses it: %.200q", a.Body)
	}
	return nil
}

// cloudEvent is an event of https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md.
type cloudEvent struct {
	SpecVersion     string            `json:"specversion"`
	ID              string            `json:"id"`
	Source          string            `json:"source"`
	Type            string            `json:"type"`
	Subject         string            `json:"subject"`
	Time            string            `json:"time"`
	DataContentType string            `json:"datacontenttype"`
	Data            openapi.OpenAlarm `json:"data"`
}

// standard returns the channel of https://www.standardwebhooks.com with CloudEvents in structured mode.
func (o *Options) standard() (channel, error) {
	sender, err := signed.NewSender(signed.SenderOptions{URL: o.URL, Secret: o.Secret(), NewSecret: o.Secret,
		Clock: o.Clock, Most: mostAnswer, TLS: o.TLS})
	if err != nil {
		return channel{}, err
	}
	header := http.Header{"Content-Type": {"application/cloudevents+json"}}
	return channel{close: sender.Close, post: func(ctx context.Context, m message) error {
		e := cloudEvent{SpecVersion: "1.0", ID: m.id(), Source: o.Name, Type: "redrain.alarm." + string(m.step),
			Subject: m.Code, Time: rfc3339(m.time()), DataContentType: "application/json", Data: m.OpenAlarm}
		body, err := json.Marshal(e)
		if err != nil {
			return err
		}
		answer, err := sender.Post(ctx, e.ID, body, header)
		if err != nil {
			return err
		}
		return checkStatus(answer)
	}}, nil
}

// id identifies a message. It is the same at each try.
func (m message) id() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %s %d", m.Code, m.Campaign, m.Since, m.step, m.Times))
	return "alarm_" + hex.EncodeToString(sum[:16])
}

// time returns the time of the event, Unix ms.
func (m message) time() int64 {
	if m.step == stepEnd {
		return m.endedAt
	}
	return m.At
}

// dingTalk writes a text message, with the signature in the address if there is a secret:
// https://open.dingtalk.com/document/robots/custom-robot-access and …/customize-robot-security-settings.
func (o *Options) dingTalk(m message) (address string, body any) {
	body = map[string]any{"msgtype": "text", "text": map[string]string{"content": o.text(m)}}
	secret := o.Secret()
	if secret == "" {
		return o.URL, body
	}
	timestamp := strconv.FormatInt(m.at, 10) // ms
	u, _ := url.Parse(o.URL)                 // Check has parsed it
	q := u.Query()
	q.Set("timestamp", timestamp)
	q.Set("sign", hmacSHA256(secret, timestamp+"\n"+secret))
	u.RawQuery = q.Encode()
	return u.String(), body
}

// feishu writes a text message, with the signature in the body if there is a secret:
// https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot.
func (o *Options) feishu(m message) (address string, body any) {
	content := map[string]any{"msg_type": "text", "content": map[string]string{"text": o.text(m)}}
	if secret := o.Secret(); secret != "" {
		timestamp := strconv.FormatInt(m.at/1000, 10)
		content["timestamp"] = timestamp
		content["sign"] = hmacSHA256(timestamp+"\n"+secret, "") // the text to sign is the key
	}
	return o.URL, content
}

// weCom writes a markdown message: https://developer.work.weixin.qq.com/document/path/91770. The address is secret.
func (o *Options) weCom(m message) (address string, body any) {
	title, rest, _ := strings.Cut(o.text(m), "\n")
	color := "warning"
	if m.step == stepEnd {
		color = "info"
	}
	return o.URL, map[string]any{"msgtype": "markdown", "markdown": map[string]string{
		"content": `**<font color="` + color + `">` + title + "</font>**\n" + rest,
	}}
}

// inert replaces the characters of markdown and of mentions, because a message may repeat a stranger's words.
var inert = strings.NewReplacer("<", "＜", ">", "＞", "[", "［", "]", "］", "`", "'", "@", "＠")

// text describes a message for a chat.
func (o *Options) text(m message) string {
	what := inert.Replace(m.Message)
	what = strings.ToValidUTF8(what[:min(len(what), mostText)], "")
	lines := []string{"redrain 告警：" + m.Code, what}
	if m.step == stepEnd {
		lines[0] = "redrain 已恢复：" + m.Code
	}
	if m.Campaign != "" {
		lines = append(lines, "活动："+inert.Replace(m.Campaign))
	}
	const layout = "2006-01-02 15:04:05 UTC"
	lines = append(lines, "开始："+time.UnixMilli(m.Since).UTC().Format(layout))
	if m.step == stepEnd {
		lines = append(lines, "结束："+time.UnixMilli(m.endedAt).UTC().Format(layout))
	}
	if m.Times > 1 {
		lines = append(lines, fmt.Sprintf("次数：%d", m.Times))
	}
	return strings.Join(append(lines, "集群："+o.Name), "\n")
}

// postable is an alert of https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml.
type postable struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     string            `json:"startsAt"`
	EndsAt       string            `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// alertmanager writes an alert: https://prometheus.io/docs/alerting/latest/alerts_api. An open one is sent again each
// minute. Equal labels are one alert.
func (o *Options) alertmanager(m message) (address string, body any) {
	a := postable{
		Labels:      map[string]string{"alertname": "redrain_alarm", "code": m.Code, "installation": o.Name},
		Annotations: map[string]string{"summary": m.Message}, StartsAt: rfc3339(m.Since),
		EndsAt: rfc3339(m.at + resolved.Milliseconds()),
	}
	if m.Campaign != "" {
		a.Labels["campaign"] = m.Campaign
	}
	if m.step == stepEnd {
		a.EndsAt = rfc3339(m.endedAt)
	}
	if strings.Contains(o.Name, "://") {
		a.GeneratorURL = o.Name + "/console"
	}
	const path = "/api/v2/alerts"
	u, _ := url.Parse(o.URL) // Check has parsed it
	if !strings.HasSuffix(u.Path, path) {
		u = u.JoinPath(path)
	}
	return u.String(), []postable{a}
}

func rfc3339(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

func hmacSHA256(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
