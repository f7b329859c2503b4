//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/serverprocess"
)

// A panel is a panel of the dashboard.
type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ Type, UID string }
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct {
		Expr, LegendFormat string
		Instant            bool
	}
}

func dashboard(t *testing.T) (panels []panel) {
	t.Helper()
	var d struct {
		Templating struct {
			List []struct{ Name, Type, Query any }
		}
		Panels []panel
	}
	if err := json.Unmarshal([]byte(repositoryFile(t, "deploy/grafana/cronce.json")), &d); err != nil {
		t.Fatal(err)
	}
	if source := d.Templating.List[0]; source.Name != "datasource" || source.Type != "datasource" || source.Query != "prometheus" {
		t.Errorf("the data source is no variable: %+v", source)
	}
	return d.Panels
}

// expressions returns the expressions of the dashboard, as Grafana sends them with all scrape jobs.
func expressions(panels []panel) (all []string) {
	for _, p := range panels {
		for _, target := range p.Targets {
			all = append(all, strings.NewReplacer("$__rate_interval", "1m", "$job", ".+").Replace(target.Expr))
		}
	}
	return all
}

// Each panel of the dashboard says what it shows and in which unit, takes the data source of the
// variable, and covers no other panel. A single number is not older than the last scrape: while the
// store is silent there is none.
func TestDashboard(t *testing.T) {
	t.Parallel()
	panels := dashboard(t)
	for i, p := range panels {
		if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 || !slices.Contains([]string{"stat", "timeseries"}, p.Type) {
			t.Errorf("a panel lacks something: %+v", p)
		}
		if p.Datasource.Type != "prometheus" || p.Datasource.UID != "${datasource}" {
			t.Errorf("%s: the data source %+v", p.Title, p.Datasource)
		}
		for _, target := range p.Targets {
			if strings.Count(target.Expr, "cronce_") != strings.Count(target.Expr, `{job=~"$job"`) || target.LegendFormat == "" || target.Instant != (p.Type == "stat") {
				t.Errorf("%s: %+v", p.Title, target)
			}
		}
		for _, other := range panels[:i] {
			a, b := p.GridPos, other.GridPos
			if p.ID == other.ID || p.Title == other.Title || a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%q and %q have the same id, title or place", p.Title, other.Title)
			}
		}
	}
}

// Prometheus can parse the expressions of the dashboard.
func TestDashboardExpressions(t *testing.T) {
	t.Parallel()
	promtool := serverprocess.Find(t, "promtool", "prometheus")
	var rules []map[string]string
	for _, expr := range expressions(dashboard(t)) {
		rules = append(rules, map[string]string{"alert": "A", "expr": expr})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", "--lint=none", file(t, "rules.yaml", string(text))).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// A plane has all metrics of planes that are documented. It and a node have each metric of the
// dashboard and of the alerts, with the labels by which it is grouped, and with the values by which
// it is selected.
func TestMetricsOfPlane(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	node := startNode(t, url, everySecond, "--http", "127.0.0.1:0")
	made := cronce(t, "ops", "token", "new", "me")
	to := "{url: \"" + receiver.URL + "\", allow_private: true}"
	plane := start(t, "ops", "--redis", url, "--config", file(t, "c.yaml", "log: {format: json}\nops: {address: \"127.0.0.1:0\", tokens_file: "+
		file(t, "tokens", made.stderr)+", heartbeat: "+to+", webhook: "+to+"}\n"))
	eventually(t, "both are served", func() bool { return len(node.logs("health served")) == 1 && len(plane.logs("ops served")) == 1 })
	var ofNode, ofPlane string
	eventually(t, "both know a run that ended ok", func() bool {
		_, ofNode = get(t, "http://"+node.logs("health served")[0].Text("address")+"/metrics")
		_, ofPlane = get(t, "http://"+plane.logs("ops served")[0].Text("address")+"/metrics", strings.TrimSpace(made.stdout))
		return measures(ofNode, "cronce_runs_total", "outcome=") && !strings.Contains(ofNode, "\ncronce_runs_total{outcome=\"ok\"} 0\n") &&
			measures(ofPlane, "cronce_job_last_success_timestamp_seconds", "job=")
	})
	for _, name := range ruleFiles(t)["ops"] {
		if !measures(ofPlane, name) {
			t.Errorf("%s was not measured", name)
		}
	}
	for _, expr := range append(expressions(dashboard(t)), alertExpressions(t)...) {
		for _, s := range seriesOf(expr) {
			if !measures(ofNode+ofPlane, s[0], s[1:]...) {
				t.Errorf("%s: %s with the labels %q was not measured", expr, s[0], s[1:])
			}
		}
	}
	for _, c := range []*child{node, plane} {
		c.signal(syscall.SIGTERM)
		if code := c.code(); code != exit.Fine {
			t.Errorf("exit code %d", code)
		}
	}
}

// seriesOf returns the series that an expression needs, each as a name and the labels that it must
// have: name= of a label by which it is grouped, and name="value" of one by which it is selected.
// The scrape makes the labels job and instance.
func seriesOf(expr string) (needed [][]string) {
	for _, m := range regexp.MustCompile(`by \(([^)]*)\) .*?(cronce_\w+)`).FindAllStringSubmatch(expr, -1) {
		series := []string{m[2]}
		for label := range strings.SplitSeq(m[1], ", ") {
			if !strings.HasSuffix(label, "job") {
				series = append(series, label+"=")
			}
		}
		needed = append(needed, series)
	}
	for _, m := range regexp.MustCompile(`(cronce_\w+)\{([^}]*)\}`).FindAllStringSubmatch(expr, -1) {
		for _, label := range regexp.MustCompile(`(\w+)=~?"([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
			for value := range strings.SplitSeq(label[2], "|") {
				if label[1] != "job" {
					needed = append(needed, []string{m[1], label[1] + `="` + value + `"`})
				}
			}
		}
	}
	if strings.Contains(expr, "process_start_time_seconds") {
		needed = append(needed, []string{"process_start_time_seconds"})
	}
	return needed
}

// measures reports whether the text of metrics has a series with a name and with these beginnings
// of labels.
func measures(text, name string, labels ...string) bool {
	for line := range strings.Lines(text) {
		if rest, is := strings.CutPrefix(line, name); is && strings.IndexAny(rest, "{ ") == 0 || is && strings.HasPrefix(rest, "_bucket{") {
			if !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(rest, l) }) {
				return true
			}
		}
	}
	return false
}
