package scheduler_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap/zaptest/observer"
)

// A line is a log line as programs read it.
type line struct {
	observer.LoggedEntry
	keys map[string]any
}

// logged returns a node's lines with a message whose keys have the values given in pairs.
func (n *node) logged(message string, pairs ...any) (ls []line) {
	for _, e := range n.logs.FilterMessage(message).All() {
		l := line{e, e.ContextMap()}
		if l.has(pairs) {
			ls = append(ls, l)
		}
	}
	return ls
}

// logged returns the lines of all nodes.
func (c *world) logged(message string, pairs ...any) (ls []line) {
	for _, n := range c.nodes {
		ls = append(ls, n.logged(message, pairs...)...)
	}
	slices.SortStableFunc(ls, func(a, b line) int { return a.Time.Compare(b.Time) })
	return ls
}

func (l *line) has(pairs []any) bool {
	for p := range slices.Chunk(pairs, 2) {
		if l.keys[p[0].(string)] != p[1] {
			return false
		}
	}
	return true
}

// shape returns a line's level and sorted keys, on which programs that read lines depend. Each line about a run may have a shard.
func (l *line) shape() string {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(l.keys)), func(key string) bool { return key == "shard" && l.keys["fence"] != nil })
	return l.Level.String() + ": " + strings.Join(keys, " ")
}

// wantLogged compares the number of matching lines of all nodes.
func (c *world) wantLogged(want int, message string, pairs ...any) {
	c.t.Helper()
	if got := c.logged(message, pairs...); len(got) != want {
		c.t.Errorf("%d lines %q %v, want %d", len(got), message, pairs, want)
	}
}

// shapes has the levels and keys of all messages. They do not change, because programs read them.
var shapes = map[string][]string{
	"node started":            {"info: node"},
	"node draining":           {"info: node"},
	"node stopped":            {"info: node"},
	"drain waits":             {"info: claim_names claims ends node run_names runs"},
	"run started":             {"info: attempt fence job late_ms node tick", "info: attempt fence for job late_ms node tick", "debug: attempt fence job late_ms node tick", "debug: attempt fence for job late_ms node tick"},
	"run finished":            {"debug: attempt err fence job node outcome tick took_ms", "debug: attempt err fence for job node outcome tick took_ms", "info: attempt err fence job node outcome tick took_ms", "info: attempt err fence for job node outcome tick took_ms", "error: attempt err fence job node outcome tick took_ms", "error: attempt err fence for job node outcome tick took_ms"},
	"try failed":              {"warn: attempt err fence job node tick try wait_ms"},
	"run panicked":            {"error: attempt fence job node stack tick"},
	"run ignores its context": {"warn: attempt cause fence job node tick"},
	"tick finished":           {"info: cancelled failed job lost missed node ok outcome shards tick took_ms", "error: cancelled failed job lost missed node ok outcome shards tick took_ms"},
	"tick passed":             {"debug: job node tick winner"},
	"tick waiting":            {"debug: job node tick"},
	"store forgot":            {"error: job mark node seen"},
	"store risk":              {"warn: fix node server text topic"},
	"claim not replicated":    {"warn: acked job node tick want"},
	"tick skipped":            {"info: job node reason tick"},
	"tick missed":             {"warn: count job node reason tick"},
	"renewal late":            {"warn: attempt fence job left_ms node tick"},
	"lease lost":              {"error: cause fence job node tick"},
	"store unreachable":       {"warn: err node what"},
	"jobs not open":           {"warn: count err jobs node"},
	"job retired":             {"info: job node reason"},
	"jobs open":               {"info: node"},
	"store back":              {"info: node"},
	"clock offset":            {"warn: node offset_ms"},
	"clock stepped":           {"error: node step_ms"},
	"clock unsteady":          {"warn: node text"},
	"mark ahead":              {"error: job mark node"},
	"fence ahead":             {"error: job node text"},
	"observer panicked":       {"error: err node"},
	"log lines lost":          {"warn: count node"},
	"specs differ":            {"warn: job node other spec"},
	"working":                 {"info: attempt fence job node tick"}, // from a job's function
}

// values has the allowed values of keys with few values.
var values = map[string][]string{
	"outcome": {"ok", "skipped", "failed", "panic", "timeout", "lost", "replaced", "cancelled", "interrupted"},
	"reason":  {"overlap", "superseded", "paused", "deadline", "misfire", "lost", "respecified", "operator", "no node has it"},
}

// checkLogs wants every line of every node to have one of its message's shapes.
func (c *world) checkLogs() {
	c.t.Helper()
	for _, n := range c.nodes {
		for _, e := range n.logs.All() {
			l := line{e, e.ContextMap()}
			if !slices.Contains(shapes[l.Message], l.shape()) {
				c.t.Errorf("logged %q as %s, want %q", l.Message, l.shape(), shapes[l.Message])
			}
			l.check(c)
		}
	}
}

// check wants a line's values to be of the documented types.
func (l *line) check(c *world) {
	c.t.Helper()
	for key, v := range l.keys {
		text, _ := v.(string)
		switch key {
		case "tick", "mark":
			if at, err := time.Parse("2006-01-02T15:04:05.000Z", text); err != nil || at.IsZero() {
				c.t.Errorf("%q: %s is %v, want RFC 3339 in UTC with milliseconds", l.Message, key, v)
			}
		case "fence", "attempt", "count":
			if i, _ := v.(int64); i < 1 {
				c.t.Errorf("%q: %s is %v, want a positive integer", l.Message, key, v)
			}
		case "outcome", "reason":
			if !slices.Contains(values[key], text) {
				c.t.Errorf("%q: %s is %v, want one of %v", l.Message, key, v, values[key])
			}
		case "node", "job":
			if text == "" {
				c.t.Errorf("%q: %s is empty", l.Message, key)
			}
		}
	}
}

// checkPairs wants one line when a run starts and one when it ends, on the winning node only.
func (c *world) checkPairs() {
	c.t.Helper()
	type key struct {
		message, node, job string
		fence              int64
	}
	lines := map[key]int{}
	for _, message := range []string{"run started", "run finished"} {
		for _, l := range c.logged(message) {
			lines[key{message, l.keys["node"].(string), l.keys["job"].(string), l.keys["fence"].(int64)}]++
		}
	}
	limited := map[string]bool{} // a run may end while it waits for a place
	for _, j := range c.jobs {
		limited[j.Name] = j.Limit.Of > 0
		for _, r := range c.ran(j.Name) {
			began, ended := key{"run started", r.Node, r.Job, r.Fence}, key{"run finished", r.Node, r.Job, r.Fence}
			if r.node.killed.IsZero() && (lines[began] != 1 || lines[ended] != 1) {
				c.t.Errorf("the run of %s at %v has %d lines of its start and %d of its end, want one each", r.Job, r.Tick, lines[began], lines[ended])
			}
			delete(lines, began)
			delete(lines, ended)
		}
	}
	for k := range lines {
		if !limited[k.job] {
			c.t.Errorf("logged %v of a run that never was", k)
		}
	}
}
