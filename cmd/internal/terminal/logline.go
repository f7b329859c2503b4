package terminal

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A LogLine is one line of a node's log, for a person.
type LogLine struct {
	At      time.Time
	Level   string
	Message string
	Fields  map[string]any
}

// ParseLogLine parses a line of the JSON log. An invalid time becomes the zero time.
func ParseLogLine(text []byte) (LogLine, error) {
	l := LogLine{Fields: map[string]any{}}
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	if err := dec.Decode(&l.Fields); err != nil {
		return LogLine{}, err
	}
	l.At, _ = time.Parse(time.RFC3339, l.Text(logTime))
	l.Level, l.Message = l.Text(logLevel), l.Text(logMessage)
	for _, key := range []string{logTime, logLevel, logMessage} {
		delete(l.Fields, key)
	}
	return l, nil
}

// Record returns the line as a record of the JSON log.
func (l *LogLine) Record() map[string]any {
	record := map[string]any{logTime: l.At.UTC().Format(timeFormat), logLevel: l.Level, logMessage: l.Message}
	maps.Copy(record, l.Fields)
	return record
}

// Text returns a field as text; "" if the line does not have it.
func (l *LogLine) Text(key string) string {
	v := l.Fields[key]
	if v == nil {
		return ""
	}
	return Printable(fmt.Sprint(v))
}

// Render returns the line for a person: time, node, message, tick, and the other fields.
func (l *LogLine) Render(p *Style) string {
	node := l.Text("node")
	columns := []string{
		l.At.UTC().Format("15:04:05.000"),
		p.node(node),
		p.message(l.Level, Printable(l.Message)),
	}
	if job := l.Text("job"); job != "" {
		columns = append(columns, fmt.Sprintf("%-12s", job), l.tick())
	}
	columns = append(columns, l.details()...)
	return strings.TrimRight(strings.Join(columns, "  "), " ")
}

// tick formats the time of a tick, with its day if that is not the line's day.
func (l *LogLine) tick() string {
	t, err := time.Parse(time.RFC3339, l.Text("tick"))
	switch {
	case err != nil:
		return ""
	case t.Format(time.DateOnly) != l.At.UTC().Format(time.DateOnly):
		return t.UTC().Format("2006-01-02 15:04:05")
	}
	return t.UTC().Format(time.TimeOnly)
}

// shown are the fields that Render prints in columns of their own, and the fence, which it omits.
var shown = []string{"node", "job", "tick", "fence", "attempt", "late_ms", "outcome", "took_ms", "reason", "count", "text", "fix", "err"}

func (l *LogLine) details() []string {
	var out []string
	add := func(format string, value string) {
		if value != "" {
			out = append(out, fmt.Sprintf(format, value))
		}
	}
	if outcome := l.Text("outcome"); outcome != "" {
		out = append(out, outcome+" in "+Milliseconds(l.Text("took_ms")))
	}
	add("%s late", Milliseconds(l.Text("late_ms")))
	add("%s", l.Text("reason"))
	add("%s ticks", unlessOne(l.Text("count")))
	add("attempt %s", unlessOne(l.Text("attempt")))
	for _, key := range l.others() {
		out = append(out, key+"="+l.Text(key))
	}
	add("%s", l.Text("text"))
	add("(%s)", l.Text("fix"))
	add("%s", l.Text("err"))
	return out
}

// unlessOne returns the number, or nothing if it is 1.
func unlessOne(n string) string {
	if n == "1" {
		return ""
	}
	return n
}

// others returns the names of the remaining fields.
func (l *LogLine) others() []string {
	var keys []string
	for key := range l.Fields {
		if !slices.Contains(shown, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Milliseconds formats a number of milliseconds with two or three digits, and returns other text
// unchanged.
func Milliseconds(text string) string {
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
