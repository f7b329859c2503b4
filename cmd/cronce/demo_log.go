package main

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
)

// A demoLog shows what all nodes of a demo say, together, and counts for itself
// what must happen once. It may be used concurrently.
type demoLog struct {
	mu      sync.Mutex
	w       io.Writer
	json    bool
	own     bool // the Redis is inside: what is a risk on another is none here
	style   *terminal.Style
	started map[string]int // "run started" by job, tick and attempt
	sent    map[string]int // what the console gateways printed, by message
}

func newDemoLog(w io.Writer, output string) *demoLog {
	return &demoLog{w: w, json: output == outputJSON, style: terminal.NewStyle(w), started: map[string]int{}, sent: map[string]int{}}
}

// The jobs of demo.yaml, and what is to be seen of them.
var demoJobs = [][2]string{
	{"sendSms", "sends what is due in the outbox, each message once"},
	{"every-2s", "the same instants on every node, whenever it was started"},
	{"overlap", "runs longer than its interval: ticks in between are skipped"},
	{"takeover", "runs longer than its lease; if its node is killed, another runs it again"},
}

// intro says what is going to be seen.
func (d *demoLog) intro(f demoFlags, c *config.Config, imported int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.own = c.Embedded()
	if d.json {
		return
	}
	where := "the Redis " + c.RedisName()
	if c.Embedded() {
		where = "a Redis inside this process (" + strings.TrimPrefix(c.Redis.URL, "redis://") + ")"
	}
	fmt.Fprintf(d.w, "%d nodes on %s, for %v or until Ctrl-C.\n%d messages wait to be sent. Times are UTC.\n\n", f.nodes, where, f.duration, imported)
	table := tabwriter.NewWriter(d.w, 0, 0, 2, ' ', 0)
	for _, job := range demoJobs {
		fmt.Fprintf(table, "  %s\t%s\n", job[0], job[1])
	}
	_ = table.Flush()
	fmt.Fprintln(d.w)
}

// logged takes a line of a node's log.
func (d *demoLog) logged(node, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, err := terminal.ParseLogLine([]byte(text))
	if err != nil { // what the runtime prints when it dies
		d.show(terminal.LogLine{At: time.Now(), Level: "error", Message: "printed", Fields: map[string]any{"node": node, "text": text}})
		return
	}
	l.Fields["node"] = node
	if l.Message == "run started" {
		d.started[l.Text("job")+"@"+l.Text("tick")+"#"+l.Text("attempt")]++
	}
	if d.own && l.Message == "store risk" {
		return
	}
	d.show(l)
}

// printed takes what a node's jobs print: a line for each message sent.
func (d *demoLog) printed(node, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rest, ok := strings.CutPrefix(text, "sms "); ok {
		id, _, _ := strings.Cut(rest, " ")
		d.sent[id]++
	}
	if d.json {
		d.emit(map[string]any{"type": "output", "node": node, "text": text})
	}
}

// event tells what the demo itself does to a node.
func (d *demoLog) event(message string, p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	level := "info"
	if message != "node launched" {
		level = "warn"
	}
	d.show(terminal.LogLine{At: time.Now(), Level: level, Message: message, Fields: map[string]any{"node": p.name, "pid": p.cmd.Process.Pid}})
}

func (d *demoLog) show(l terminal.LogLine) {
	if !d.json {
		fmt.Fprintln(d.w, l.Render(d.style))
		return
	}
	line := map[string]any{"type": "log"}
	maps.Copy(line, l.Record())
	d.emit(line)
}

func (d *demoLog) emit(value any) {
	_ = terminal.PrintJSONLine(d.w, value)
}

// repeats counts the keys that were counted more than once.
func repeats(counts map[string]int) (n int) {
	for _, count := range counts {
		if count > 1 {
			n++
		}
	}
	return n
}
