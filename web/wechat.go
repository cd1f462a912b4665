package web

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

// allow lets a page load the script, ask who signs, and speak with WeChat. What the script would report to WeChat (the
// address of the page, by a picture) is not let out.
func (w WeChat) allow(p *policy) {
	if w.Sign == "" {
		return
	}
	p.scripts = append(p.scripts, origins(w.SDK)...)
	p.connect = append(p.connect, origins(w.Sign)...)
	p.frames = append(p.frames, bridge...)
}
