package web

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// policy is a page's Content-Security-Policy: the sources from which the page may load, besides this server. It is
// written in one place, because browsers read only the first of two equal directives.
type policy struct {
	images, scripts, connect []string // besides those of every page
	frames, styles           []string // none: no frames, and styles of this server
	ancestors                []string // pages that may show this one in a frame, besides this server's
}

// policy is that of a page. The socket is named by its full origin, because some browsers do not count ws: and wss: as
// 'self'. f is the requested file, or nil if there is none.
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
		p.ancestors = o.Ancestors // a frame around the console could trick an operator into a click
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
		source("frame-ancestors", p.ancestors),
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

// hostPattern matches a host that may be repeated in a header.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$|^\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?$`)

// Origin is the origin of an address as a policy names it, or "" if it has none.
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

// WeChat configures the player's page in WeChat's browser: through the JS-SDK the page sets the preview of a shared
// link. Other browsers load nothing of it.
type WeChat struct {
	// Sign is the address of the operator's own server that signs a page's address. The signature needs a secret of
	// WeChat's, which redrain does not hold. "": WeChat makes the preview of links.
	Sign string
	// SDK is the address of WeChat's script.
	SDK string
}

// bridge are the frames through which older versions of WeChat receive a page's requests. They lead nowhere else.
var bridge = []string{"weixin:", "weixinping:"}
