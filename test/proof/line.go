package proof

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Line is one line of a node's log.
type Line struct {
	Pid    int
	At     time.Time // when it was read
	Text   string
	Msg    string         // "" if the line is no JSON object
	Level  string         // as the line has it
	Fields map[string]any // everything in the line; numbers are json.Number
}

// ParseLine reads a line that a process printed.
func ParseLine(pid int, text []byte, at time.Time) Line {
	l := Line{Pid: pid, At: at, Text: string(text)}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&l.Fields) != nil {
		return l
	}
	l.Msg, l.Level = l.Str("msg"), l.Str("level")
	return l
}

// Str returns a field of the line as text, "" if it is not there.
func (l *Line) Str(key string) string {
	switch v := l.Fields[key].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// Int returns a whole number in the line, 0 if it is not there.
func (l *Line) Int(key string) int64 {
	n, _ := l.Fields[key].(json.Number)
	i, _ := n.Int64()
	return i
}

// Float returns a number in the line, 0 if it is not there.
func (l *Line) Float(key string) float64 {
	n, _ := l.Fields[key].(json.Number)
	f, _ := n.Float64()
	return f
}

// Tick returns the line's tick in Unix milliseconds, 0 if there is none.
func (l *Line) Tick() int64 {
	t, err := time.Parse(tickLayout, l.Str("tick"))
	if err != nil {
		return 0
	}
	return t.UnixMilli()
}

const tickLayout = "2006-01-02T15:04:05.000Z"

// attempt names the run that a line speaks of.
func (l *Line) attempt() attempt {
	return attempt{l.Str("job"), l.Tick(), int(l.Int("attempt"))}
}

// Keys returns the names of the line's own fields, sorted: without those that
// every line has.
func (l *Line) Keys() []string {
	own := maps.Clone(l.Fields)
	for _, k := range []string{"level", "msg", "ts", "time", "caller", "stack"} {
		delete(own, k)
	}
	return slices.Sorted(maps.Keys(own))
}

// A lineWriter cuts what a process prints into lines.
type lineWriter struct {
	mu   sync.Mutex
	rest []byte
	emit func(text []byte)
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, b...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		w.emit(w.rest[:i])
		w.rest = w.rest[i+1:]
	}
}
