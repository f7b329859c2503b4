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
	At     time.Time // the time of reading
	Text   string
	Msg    string         // "" if the line is not a JSON object
	Level  string         // as in the line
	Fields map[string]any // all fields of the line; numbers are json.Number
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

// Str returns a field of the line as text, "" if it has none of that name.
func (l *Line) Str(key string) string {
	switch v := l.Fields[key].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// Int returns a field of the line as an integer, 0 if it is missing.
func (l *Line) Int(key string) int64 {
	n, _ := l.Fields[key].(json.Number)
	i, _ := n.Int64()
	return i
}

// Float returns a field of the line as a number, 0 if it is missing.
func (l *Line) Float(key string) float64 {
	n, _ := l.Fields[key].(json.Number)
	f, _ := n.Float64()
	return f
}

// Tick returns the line's tick in Unix milliseconds, 0 if it is missing.
func (l *Line) Tick() int64 {
	t, err := time.Parse(tickLayout, l.Str("tick"))
	if err != nil {
		return 0
	}
	return t.UnixMilli()
}

const tickLayout = "2006-01-02T15:04:05.000Z"

// attempt returns the run that the line is about.
func (l *Line) attempt() attempt {
	return attempt{l.Str("job"), l.Tick(), int(l.Int("attempt"))}
}

// Keys returns the sorted names of the fields that not every line has.
func (l *Line) Keys() []string {
	own := maps.Clone(l.Fields)
	for _, k := range []string{"level", "msg", "ts", "time", "caller", "stack"} {
		delete(own, k)
	}
	return slices.Sorted(maps.Keys(own))
}

// A lineWriter splits the output of a process into lines.
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
