package browser

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed axe/axe.min.js
var axe string

// Violation is a rule of accessibility that a page breaks.
type Violation struct {
	Rule   string   `json:"rule"`
	Impact string   `json:"impact"` // minor, moderate, serious, critical
	Help   string   `json:"help"`
	Places []string `json:"places"` // selector of the element, and its fault
}

func (v Violation) String() string {
	return fmt.Sprintf("%s (%s): %s\n\t%s", v.Rule, v.Impact, v.Help, strings.Join(v.Places, "\n\t"))
}

// Axe checks the page as it is now against the rules of WCAG 2.1, levels A and AA, and of good practice.
//
// It comes through the debugger, which the page's content security policy does not stop.
func (p *Page) Axe() ([]Violation, error) {
	there, err := Eval[bool](p, `"axe" in globalThis`)
	if err != nil {
		return nil, err
	}
	if !there {
		if _, err := Eval[bool](p, axe+`; "axe" in globalThis`); err != nil {
			return nil, fmt.Errorf("load axe-core: %w", err)
		}
	}
	// preload would fetch style sheets again; no rule here needs it.
	return Eval[[]Violation](p, `axe.run(document, {
		runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] },
		resultTypes: ["violations"], preload: false,
	}).then((r) => r.violations.map((v) => ({
		rule: v.id, impact: v.impact ?? "", help: v.help,
		places: v.nodes.map((n) => n.target.join(" ") + ": " + n.failureSummary.replace(/\s+/g, " ")),
	})))`)
}

// Words returns the texts of the page for eyes and screen readers: of elements, labels, hints in fields, descriptions
// of pictures. It leaves out code, and elements with translate="no" or another lang (the switch of languages names each
// in itself).
func (p *Page) Words() ([]string, error) {
	return Eval[[]string](p, `(() => {
		const found = new Set();
		const add = (text) => { const t = (text ?? "").replace(/\s+/g, " ").trim(); if (t) found.add(t); };
		const foreign = (e) =>
			e.closest("code, pre, kbd, samp, [translate=no]") || e.closest("[lang]") !== document.documentElement;
		const spoken = ["aria-label", "title", "placeholder", "alt", "aria-description", "aria-valuetext",
			"aria-roledescription"];
		add(document.title);
		for (const e of document.body.querySelectorAll("*")) {
			if (foreign(e) || e.matches("script, style, noscript, noscript *")) continue;
			if (!e.checkVisibility({ visibilityProperty: true })) continue;
			for (const name of spoken) add(e.getAttribute(name));
			const texts = [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.data);
			// A place where a line may break is no end of a text.
			for (const t of e.querySelector(":scope > wbr") ? [texts.join("")] : texts) add(t);
		}
		return [...found];
	})()`)
}

// Holdings counts the objects that a page keeps alive.
type Holdings struct {
	Heap      float64 // bytes of JavaScript objects that can be reached
	Nodes     int64   // of the DOM, with those that are in no document any more but still referred to
	Listeners int64   // of DOM events
}

// Holdings collects garbage, and counts the rest.
func (p *Page) Holdings() (Holdings, error) {
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	return chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (h Holdings, err error) {
		// Twice: the second collection takes the objects that the first has left to finalizers.
		for range 2 {
			if _, err := cdp.Call(ctx, t, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
				return h, err
			}
		}
		counts, err := cdp.Call(ctx, t, memory.GetDOMCounters, cdp.Empty{})
		if err != nil {
			return h, err
		}
		usage, err := cdp.Call(ctx, t, runtime.GetHeapUsage, cdp.Empty{})
		return Holdings{Heap: usage.UsedSize, Nodes: counts.Nodes, Listeners: counts.JsEventListeners}, err
	})
}
