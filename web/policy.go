package web

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// policy is what a page may load, and from where, besides this server: what a Content-Security-Policy says. It is
// written once, because of a directive that a policy has twice browsers read the first.
type policy struct {
	images, scripts, connect []string // added to what every page may
	frames, styles           []string // none: no frames, and styles of this server
}

// policy is that of a page. The socket is named by its full origin, because some browsers do not count ws: and wss: as
// 'self'. f is the file that is asked for; nil where there is none.
func (o *Options) policy(path, host string, f *file) *policy {
	p := &policy{images: []string{"data:"}}
	if hostPattern.MatchString(host) {
		p.connect = []string{"ws://" + host, "wss://" + host}
	}
	if f != nil && f.inline != "" {
		p.scripts = []string{f.inline}
	}
	if path == "/console" && o.SignIn != nil {
		p.connect = append(p.connect, origins(o.SignIn())...)
	}
	if path == "/" || path == "/screen" {
		p.images = append(p.images, o.Images...)
	}
	if path == "/" {
		p.scripts = append(p.scripts, o.Widget...)
		p.connect = append(p.connect, o.Widget...)
		p.frames = append(p.frames, o.Widget...) // the widget's script makes frames and styles
		p.styles = append(p.styles, o.Widget...)
		if o.WeChat.Sign != "" { // its script may not report the page's address, which it would do by a picture
			p.scripts = append(p.scripts, origins(o.WeChat.SDK)...)
			p.connect = append(p.connect, origins(o.WeChat.Sign)...)
			p.frames = append(p.frames, bridge...)
		}
	}
	return p
}

func (p *policy) String() string {
	all := []string{
		"default-src 'self'", source("img-src", p.images), source("script-src", p.scripts),
		source("connect-src", p.connect), "object-src 'none'", "base-uri 'none'", "form-action 'self'",
		"frame-ancestors 'self'",
	}
	if len(p.frames) > 0 {
		all = append(all, "frame-src "+strings.Join(p.frames, " "))
	}
	if len(p.styles) > 0 {
		all = append(all, source("style-src", p.styles))
	}
	return strings.Join(all, "; ")
}

func source(directive string, besides []string) string {
	return strings.Join(slices.Concat([]string{directive, "'self'"}, besides), " ")
}

// hostPattern is what a host may look like to be repeated in a header of ours.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$|^\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?$`)

// Origin is the origin of an address as a policy can name it; "" where there is none.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || !hostPattern.MatchString(u.Host) {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// origins is a list with the origin of an address, or an empty one.
func origins(address string) []string {
	if o := Origin(address); o != "" {
		return []string{o}
	}
	return nil
}

// WeChat is what the player's page does in WeChat's browser: by its JS-SDK it says what a link to it looks like that
// somebody sends on. Everywhere else nothing of it is loaded.
type WeChat struct {
	// Sign is the address of the operator's own server that signs a page's address: the secret that this needs is one
	// of WeChat's, and not redrain's to hold. "": the page leaves links to WeChat.
	Sign string
	// SDK is the address of WeChat's script.
	SDK string
}

// bridge is by which frames older versions of WeChat hear what a page asks of them. They lead nowhere else.
var bridge = []string{"weixin:", "weixinping:"}
