package demo

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/cronce/cronce/cmd/internal/terminal"
)

// A logView prints the logs of all nodes together, and counts the runs and messages that must
// happen once. It is safe for concurrent use.
type logView struct {
	mu      sync.Mutex
	w       io.Writer
	json    bool
	own     bool // the Redis is inside this process, so its risks do not matter
	style   *terminal.Style
	started map[string]int // "run started" by job, tick and attempt
	sent    map[string]int // lines of the console gateways, by message
}

func newLogView(w io.Writer, asJSON bool) *logView {
	return &logView{w: w, json: asJSON, style: terminal.NewStyle(w), started: map[string]int{}, sent: map[string]int{}}
}

// intro prints an introduction.
func (d *logView) intro(o *Options, s *store) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.own = s.server != nil
	if d.json {
		return
	}
	where := "the Redis " + s.RedisName
	if d.own {
		where = "a Redis inside this process (" + s.server.Addr() + ")"
	}
	fmt.Fprintf(d.w, "%d nodes on %s, for %v or until Ctrl-C.\n%d messages wait to be sent. Times are UTC.\n\n", o.Nodes, where, o.Duration, messages)
	table := tabwriter.NewWriter(d.w, 0, 0, 2, ' ', 0)
	for _, job := range Jobs {
		fmt.Fprintf(table, "  %s\t%s\n", job[0], job[1])
	}
	_ = table.Flush()
	fmt.Fprintln(d.w)
}

// addPages prints the address of the pages.
func (d *logView) addPages(url string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.json {
		d.emit(map[string]any{"type": "pages", "url": url})
		return
	}
	fmt.Fprintf(d.w, "See it in a browser: %s\n(the address works once, on this machine)\n\n", url)
}

// addLine adds a line of a node's log.
func (d *logView) addLine(node, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, err := terminal.ParseLogLine([]byte(text))
	if err != nil { // not JSON: output of the runtime when the process crashes
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

// addOutput adds a line that a node's job has printed, one per message sent.
func (d *logView) addOutput(node, text string) {
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

// addEvent prints an action of the demo on a node.
func (d *logView) addEvent(message string, p *node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	level := "info"
	if message != "node launched" {
		level = "warn"
	}
	d.show(terminal.LogLine{At: time.Now(), Level: level, Message: message, Fields: map[string]any{"node": p.name, "pid": p.cmd.Process.Pid}})
}

func (d *logView) show(l terminal.LogLine) {
	if !d.json {
		fmt.Fprintln(d.w, l.Render(d.style))
		return
	}
	line := map[string]any{"type": "log"}
	maps.Copy(line, l.Record())
	d.emit(line)
}

func (d *logView) emit(value any) {
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
