package alipay

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"redrain/internal/rsakeys"
)

// beijing is the time zone of Alipay's timestamps.
var beijing = time.FixedZone("UTC+8", 8*60*60)

// form returns the signed parameters of a request: see https://opendocs.alipay.com/common/02kf5q.
func (p *Provider) form(method string, content any, at time.Time) (url.Values, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(content); err != nil {
		return nil, err
	}
	f := url.Values{
		"app_id": {p.o.AppID}, "method": {method}, "format": {"json"}, "charset": {"utf-8"}, "sign_type": {"RSA2"},
		"timestamp": {at.In(beijing).Format(time.DateTime)}, "version": {"1.0"},
		"biz_content": {strings.TrimSpace(text.String())},
	}
	if method == methodTransfer && p.o.NotifyURL != "" {
		f.Set("notify_url", p.o.NotifyURL)
	}
	signature, err := rsakeys.Sign(p.o.Key, joined(f))
	f.Set("sign", signature)
	return f, err
}

// joined returns the text that is signed: the parameters with values, by their names, as name=value joined by &.
func joined(f url.Values) string {
	var parts []string
	for name := range f {
		if value := f.Get(name); value != "" {
			parts = append(parts, name+"="+value)
		}
	}
	slices.SortFunc(parts, func(a, b string) int {
		return strings.Compare(a[:strings.IndexByte(a, '=')], b[:strings.IndexByte(b, '=')])
	})
	return strings.Join(parts, "&")
}
