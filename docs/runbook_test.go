package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"redrain/internal/testenv"
)

var (
	// alertRule matches an alert, and the section that its annotation names.
	alertRule = regexp.MustCompile(`(?s)- alert: (\w+)\n.*?\n +runbook: docs/use/runbook\.md#([\w-]+)\n`)

	namedAlert = regexp.MustCompile("`(Redrain\\w+)`")
)

// TestEachAlertHasARunbook: the section that an alert links to names it, and says what to see, check and do, and what
// it costs. The runbook names no other alerts.
func TestEachAlertHasARunbook(t *testing.T) {
	t.Parallel()
	rules := string(testenv.Got(os.ReadFile("../deploy/prometheus/alerts.yaml")).Must(t))
	runbook := sections(t, "use/runbook.md")
	exists := map[string]bool{}
	for _, rule := range alertRule.FindAllStringSubmatch(rules, -1) {
		name, section := rule[1], runbook[rule[2]]
		exists[name] = true
		for _, part := range []string{"`" + name + "`", "- **See:** ", "- **Check:** ", "- **Do:** ", "- **Cost:** "} {
			if !strings.Contains(section, part) {
				t.Errorf("%s: the section %s has no %q", name, rule[2], part)
			}
		}
	}
	testenv.Equal(t, len(exists), strings.Count(rules, "- alert: "), "alerts with a link to the runbook")
	for section, text := range runbook {
		for _, name := range namedAlert.FindAllStringSubmatch(text, -1) {
			if !exists[name[1]] {
				t.Errorf("section %s: there is no alert %s", section, name[1])
			}
		}
	}
}
