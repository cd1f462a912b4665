package browser

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed axe/axe.min.js
var axe string

// Violation is a rule of accessibility that a page breaks.
type Violation struct {
	Rule   string   `json:"rule"`
	Impact string   `json:"impact"` // minor, moderate, serious, critical
	Help   string   `json:"help"`
	Places []string `json:"places"` // selector of the element, and what is wrong with it
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
