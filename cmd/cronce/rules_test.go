package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cronce/cronce/internal/serverprocess"
	opsmetrics "github.com/cronce/cronce/ops/metrics"
	"github.com/cronce/cronce/ops/notify"
	"github.com/cronce/cronce/scheduler/metrics"
)

type alertRules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

// ruleFiles returns the files of alerts, with the names of the metrics that they may use.
func ruleFiles(t *testing.T) map[string][]string {
	t.Helper()
	return map[string][]string{
		"node": append(names(metrics.New()), "cronce_config_stale"), // TestMetricsOfNode finds each in a node
		"ops":  append(names(opsmetrics.New(nil), notify.New(notify.Options{})), "cronce_ops_tokens"),
	}
}

// names returns the names of metrics.
func names(all ...prometheus.Collector) (names []string) {
	to := make(chan *prometheus.Desc, 100)
	for _, c := range all {
		c.Describe(to)
	}
	close(to)
	for d := range to {
		names = append(names, regexp.MustCompile(`cronce_\w+`).FindString(d.String()))
	}
	return names
}

// histogramOf returns the histogram of a series of one, or the name of another metric.
func histogramOf(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
}

// Each alert uses existing metrics, has a severity and a next step, and has a case in which it
// fires and one in which it does not.
func TestRules(t *testing.T) {
	t.Parallel()
	for file, measured := range ruleFiles(t) {
		var rules alertRules
		manifest(t, "deploy/prometheus/"+file+".rules.yaml", &rules)
		fires, silent := ruleCases(t, file)
		for _, rule := range rules.Groups[0].Rules {
			for _, name := range regexp.MustCompile(`cronce_\w+`).FindAllString(rule.Expr, -1) {
				if !slices.Contains(measured, histogramOf(name)) {
					t.Errorf("%s is about %s, which is not measured", rule.Alert, name)
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
}

// alertExpressions returns the expressions of all alerts.
func alertExpressions(t *testing.T) (all []string) {
	t.Helper()
	for file := range ruleFiles(t) {
		var rules alertRules
		manifest(t, "deploy/prometheus/"+file+".rules.yaml", &rules)
		for _, rule := range rules.Groups[0].Rules {
			all = append(all, rule.Expr)
		}
	}
	return all
}

// ruleCases returns the alerts of a file that have a case in which they fire, and those that have
// one in which they do not.
func ruleCases(t *testing.T, file string) (fires, silent map[string]bool) {
	t.Helper()
	var cases struct {
		Tests []struct {
			Alerts []struct {
				Name string `yaml:"alertname"`
				Want []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	manifest(t, "deploy/prometheus/"+file+".rules.test.yaml", &cases)
	fires, silent = map[string]bool{}, map[string]bool{}
	for _, c := range cases.Tests {
		for _, a := range c.Alerts {
			fires[a.Name], silent[a.Name] = fires[a.Name] || len(a.Want) > 0, silent[a.Name] || len(a.Want) == 0
		}
	}
	return fires, silent
}

// Prometheus accepts the alerts, and they fire as in their cases.
func TestRulesFire(t *testing.T) {
	t.Parallel()
	promtool := serverprocess.Find(t, "promtool", "prometheus")
	for file := range ruleFiles(t) {
		cmd := exec.Command(promtool, "test", "rules", file+".rules.test.yaml")
		cmd.Dir = "../../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// The pages for operators list the metrics that a node and a plane have, and no other.
func TestDocumentedMetrics(t *testing.T) {
	t.Parallel()
	var documented []string
	for _, name := range []string{"operating", "plane"} {
		page, err := os.ReadFile("../../docs/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`(cronce_[a-z_]+)").FindAllStringSubmatch(string(page), -1) {
			documented = append(documented, m[1])
		}
	}
	measured := append(ruleFiles(t)["node"], ruleFiles(t)["ops"]...)
	for _, name := range measured {
		if !slices.Contains(documented, name) {
			t.Errorf("docs/operating.md and docs/plane.md lack %s", name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(measured, name) {
			t.Errorf("docs/operating.md or docs/plane.md has %s, which is not measured", name)
		}
	}
}
