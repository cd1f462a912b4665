package deploy

import (
	"testing"

	"go.yaml.in/yaml/v3"

	"redrain/internal/testenv"
)

// rules are those of alerts.yaml.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert  string            `yaml:"alert"`
			Record string            `yaml:"record"`
			Expr   string            `yaml:"expr"`
			Labels map[string]string `yaml:"labels"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

func readRules(t *testing.T) (all rules) {
	t.Helper()
	testenv.Must(t, yaml.Unmarshal([]byte(file(t, "prometheus", "alerts.yaml")), &all))
	return all
}

// TestEachAlertFiresAndIsSilent: alerts_test.yaml, which promtool runs, has a case of each kind for each alert. Each
// alert has a severity, and few wake a person.
func TestEachAlertFiresAndIsSilent(t *testing.T) {
	var tests struct {
		Tests []struct {
			Alerts []struct {
				Name string `yaml:"alertname"`
				Want []any  `yaml:"exp_alerts"` //nolint:tagliatelle // of promtool
			} `yaml:"alert_rule_test"` //nolint:tagliatelle // the same
		} `yaml:"tests"`
	}
	testenv.Must(t, yaml.Unmarshal([]byte(file(t, "prometheus", "alerts_test.yaml")), &tests))
	fires, isSilent := map[string]bool{}, map[string]bool{}
	for _, c := range tests.Tests {
		for _, a := range c.Alerts {
			fires[a.Name] = fires[a.Name] || len(a.Want) > 0
			isSilent[a.Name] = isSilent[a.Name] || len(a.Want) == 0
		}
	}
	severities := map[string]int{}
	for _, g := range readRules(t).Groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			severities[r.Labels["severity"]]++
			if !fires[r.Alert] || !isSilent[r.Alert] {
				t.Errorf("%s: a test in which it fires: %v, and one in which it is silent: %v", r.Alert,
					fires[r.Alert], isSilent[r.Alert])
			}
		}
	}
	all := severities["page"] + severities["ticket"] + severities["info"]
	if len(severities) != 3 || all < 45 || severities["page"] > all/3 {
		t.Errorf("alerts by severity: %v", severities)
	}
}
