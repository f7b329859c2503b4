package main

import (
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/internal/serverprocess"
)

const shopRules = "deploy/prometheus/shop.rules.yaml"

type alertRules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

// Each alert on a shop is about metrics that a shop has, says how urgent it is and what to do, and has a
// case in which it fires, and one in which it does not.
func TestShopRules(t *testing.T) {
	t.Parallel()
	var rules alertRules
	manifest(t, shopRules, &rules)
	var cases struct {
		Tests []struct {
			Alerts []struct {
				Name string `yaml:"alertname"`
				Want []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	manifest(t, "deploy/prometheus/shop.rules.test.yaml", &cases)
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, c := range cases.Tests {
		for _, a := range c.Alerts {
			fires[a.Name], silent[a.Name] = fires[a.Name] || len(a.Want) > 0, silent[a.Name] || len(a.Want) == 0
		}
	}
	measured := shopMetricNames()
	for _, rule := range rules.Groups[0].Rules {
		for _, name := range regexp.MustCompile(`cronce_\w+`).FindAllString(rule.Expr, -1) {
			if !slices.Contains(measured, name) {
				t.Errorf("%s is about %s, which no shop has", rule.Alert, name)
			}
		}
		if !slices.Contains([]string{"page", "ticket"}, rule.Labels["severity"]) || rule.For == "" || rule.Annotations["summary"] == "" {
			t.Errorf("%s lacks something: %+v", rule.Alert, rule)
		}
		if !fires[rule.Alert] || !silent[rule.Alert] {
			t.Errorf("%s: a case in which it fires: %t, and one in which it does not: %t", rule.Alert, fires[rule.Alert], silent[rule.Alert])
		}
	}
}

// shopMetricNames are the names of what a shop measures.
func shopMetricNames() (names []string) {
	to := make(chan *prometheus.Desc, 100)
	newShopMetrics(&shop{}).Describe(to)
	newBookMetrics(&shop{}).Describe(to)
	close(to)
	for d := range to {
		names = append(names, regexp.MustCompile(`cronce_\w+`).FindString(d.String()))
	}
	return names
}

// Prometheus takes the alerts, and they fire as their cases say.
func TestShopRulesFire(t *testing.T) {
	t.Parallel()
	promtool := serverprocess.Find(t, "promtool", "prometheus")
	cmd := exec.Command(promtool, "test", "rules", "shop.rules.test.yaml")
	cmd.Dir = "../../deploy/prometheus"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
