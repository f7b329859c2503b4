package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A logLine is one line of a node's log, for a person.
type logLine struct {
	at      time.Time
	level   string
	message string
	fields  map[string]any
}

// parseLogLine reads a line of the JSON log.
func parseLogLine(text []byte) (logLine, error) {
	l := logLine{fields: map[string]any{}}
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	if err := dec.Decode(&l.fields); err != nil {
		return logLine{}, err
	}
	l.at, _ = time.Parse(time.RFC3339, l.text(logTime))
	l.level, l.message = l.text(logLevel), l.text(logMessage)
	for _, key := range []string{logTime, logLevel, logMessage} {
		delete(l.fields, key)
	}
	return l, nil
}

// text returns a field as text; "" if the line does not have it.
func (l *logLine) text(key string) string {
	v, ok := l.fields[key]
	if !ok || v == nil {
		return ""
	}
	return printable(fmt.Sprint(v))
}

// render writes the line: when, which node, what, of which tick, and the rest.
func (l *logLine) render(p *painter) string {
	node := l.text("node")
	columns := []string{
		l.at.UTC().Format("15:04:05.000"),
		p.node(node),
		p.message(l.level, printable(l.message)),
	}
	if job := l.text("job"); job != "" {
		columns = append(columns, fmt.Sprintf("%-12s", job), l.tick())
	}
	columns = append(columns, l.details()...)
	return strings.TrimRight(strings.Join(columns, "  "), " ")
}

// tick shows a tick's time, with its day if that is not the line's.
func (l *logLine) tick() string {
	t, err := time.Parse(time.RFC3339, l.text("tick"))
	switch {
	case err != nil:
		return ""
	case t.Format(time.DateOnly) != l.at.UTC().Format(time.DateOnly):
		return t.UTC().Format("2006-01-02 15:04:05")
	}
	return t.UTC().Format(time.TimeOnly)
}

// shown are the fields that render has columns or words of its own for, and the
// fence, which is for machines.
var shown = []string{"node", "job", "tick", "fence", "attempt", "late_ms", "outcome", "took_ms", "reason", "count", "text", "fix", "err"}

func (l *logLine) details() []string {
	var out []string
	add := func(format string, value string) {
		if value != "" {
			out = append(out, fmt.Sprintf(format, value))
		}
	}
	if outcome := l.text("outcome"); outcome != "" {
		out = append(out, outcome+" in "+milliseconds(l.text("took_ms")))
	}
	add("%s late", milliseconds(l.text("late_ms")))
	add("%s", l.text("reason"))
	add("%s ticks", unlessOne(l.text("count")))
	add("attempt %s", unlessOne(l.text("attempt")))
	for _, key := range l.others() {
		out = append(out, key+"="+l.text(key))
	}
	add("%s", l.text("text"))
	add("(%s)", l.text("fix"))
	add("%s", l.text("err"))
	return out
}

// unlessOne leaves out the number that is not worth a word.
func unlessOne(n string) string {
	if n == "1" {
		return ""
	}
	return n
}

// others are the names of fields that only some lines have.
func (l *logLine) others() []string {
	var keys []string
	for key := range l.fields {
		if !slices.Contains(shown, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// milliseconds shows a number of milliseconds with two or three digits.
func milliseconds(text string) string {
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	d := time.Duration(ms * float64(time.Millisecond))
	switch {
	case d.Abs() < time.Millisecond:
		return fmt.Sprintf("%.0fµs", 1000*ms)
	case d.Abs() < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", ms)
	case d.Abs() < time.Second:
		return fmt.Sprintf("%.0fms", ms)
	}
	return d.Round(100 * time.Millisecond).String()
}
