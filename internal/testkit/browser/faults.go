package browser

import (
	"slices"
	"strings"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// Kind is the kind of a page's fault.
type Kind string

// The kinds of faults.
const (
	Console   Kind = "console"   // it wrote something in the console: a page of ours has nothing to say there
	Exception Kind = "exception" // it was not caught
	Log       Kind = "log"       // the browser complains, of a broken policy or a bad file
	Network   Kind = "network"   // a request was refused or broke; a test that breaks things expects these
	Foreign   Kind = "foreign"   // a request went to another host
)

// Fault is something that a page should not have done.
type Fault struct {
	Kind Kind
	Text string
}

func (f Fault) String() string { return string(f.Kind) + ": " + f.Text }

// Faults are the page's faults so far.
func (p *Page) Faults() []Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults)
}

// Forgive forgets the faults so far.
func (p *Page) Forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

func (p *Page) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.fault(Exception, thrown(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		words := []string{string(e.Type)}
		for _, a := range e.Args {
			words = append(words, string(a.Value)+a.Description)
		}
		p.fault(Console, strings.Join(words, " "))
	case *log.EventEntryAdded:
		switch {
		case e.Entry.URL == "about:blank": // an icon of the last page, which Chromium requests while it leaves
		case e.Entry.Source == log.EntrySourceNetwork:
			p.fault(Network, e.Entry.Text+" "+e.Entry.URL)
		case e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning:
			p.fault(Log, e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		p.asked(e.Request.URL)
	case *network.EventWebSocketCreated:
		p.asked(e.URL)
	}
}

func thrown(d *runtime.ExceptionDetails) string {
	text := d.Text
	if d.Exception != nil {
		text += " " + d.Exception.Description + string(d.Exception.Value)
	}
	return text
}

// asked records a fault if a request goes to another host.
func (p *Page) asked(address string) {
	for _, scheme := range []string{"data:", "blob:", "about:"} { // these go nowhere
		if strings.HasPrefix(address, scheme) {
			return
		}
	}
	host := func(address string) string {
		_, rest, _ := strings.Cut(address, "://")
		name, _, _ := strings.Cut(rest, "/")
		return name
	}
	if host(address) != host(p.home) {
		p.fault(Foreign, "a request to "+address)
	}
}

func (p *Page) fault(kind Kind, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, Fault{kind, strings.TrimSpace(text)})
}
