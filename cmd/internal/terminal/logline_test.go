package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRender(t *testing.T) {
	for _, c := range []struct{ json, want string }{
		{`{"ts":"2026-01-02T03:04:05.006Z","level":"info","msg":"run started","node":"n-1","job":"sendSms","tick":"2026-01-02T03:04:05.000Z","attempt":1,"fence":12,"late_ms":6.04}`,
			"03:04:05.006  n-1  run started    sendSms       03:04:05  6.0ms late"},
		{`{"ts":"2026-01-02T03:04:05.006Z","level":"info","msg":"run started","node":"n-1","job":"sendSms","tick":"2026-01-01T23:59:55.000Z","attempt":2,"fence":12,"late_ms":11050.2}`,
			"03:04:05.006  n-1  run started    sendSms       2026-01-01 23:59:55  11.1s late  attempt 2"},
		{`{"ts":"2026-01-02T03:04:05.006Z","level":"error","msg":"run finished","node":"n-1","job":"j","tick":"2026-01-02T03:04:05.000Z","attempt":1,"fence":1,"outcome":"failed","took_ms":0.5,"err":"boom\u001b[31m\nmore"}`,
			"03:04:05.006  n-1  run finished   j             03:04:05  failed in 500µs  boom\\x1b[31m\\nmore"},
		{`{"ts":"2026-01-02T03:04:05.006Z","level":"warn","msg":"tick missed","node":"n-1","job":"j","tick":"2026-01-02T03:04:00.000Z","count":3,"reason":"misfire"}`,
			"03:04:05.006  n-1  tick missed    j             03:04:00  misfire  3 ticks"},
		{`{"ts":"2026-01-02T03:04:05.006Z","level":"info","msg":"messages sent","node":"n-1","sent":12345678,"failed":0}`,
			"03:04:05.006  n-1  messages sent  failed=0  sent=12345678"},
		{`{"ts":"2026-01-02T03:04:05.006Z","level":"info","msg":"job paused","node":"n-1","job":"j"}`,
			"03:04:05.006  n-1  job paused     j"},
		{`{"ts":"2026-01-02T03:04:05.006Z","level":"warn","msg":"store risk","node":"n-1","topic":"memory","text":"it is full","fix":"add some","err":"odd"}`,
			"03:04:05.006  n-1  store risk     topic=memory  it is full  (add some)  odd"},
		{`{"ts":"2026-01-02T03:04:05.006Z","level":"info","msg":"node started","node":"n-1"}`,
			"03:04:05.006  n-1  node started"},
	} {
		l, err := ParseLogLine([]byte(c.json))
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Render(&Style{}); got != c.want {
			t.Errorf("\n got %q\nwant %q", got, c.want)
		}
		record, err := json.Marshal(l.Record())
		if again, e := ParseLogLine(record); err != nil || e != nil || !reflect.DeepEqual(again, l) {
			t.Errorf("the record is %s, %v, %v", record, err, e)
		}
	}
	if l, err := ParseLogLine([]byte("panic: odd")); err == nil {
		t.Errorf("a text that is no line of the log is %+v", l)
	}
}

// The console shows the same fields as the JSON log, with the fields of the logger before the
// fields of the line.
func TestLoggers(t *testing.T) {
	for format, want := range map[string]string{
		"console": "03:04:05.006  n-1  run finished   a=b  odd\n",
		"json":    `{"level":"error","ts":"2026-01-02T03:04:05.006Z","msg":"run finished","node":"n-1","a":"b","err":"odd"}` + "\n",
		"auto":    `{"level":"error","ts":"2026-01-02T03:04:05.006Z","msg":"run finished","node":"n-1","a":"b","err":"odd"}` + "\n",
	} {
		var out bytes.Buffer
		log, flush := NewLogger("info", format, &out)
		log = log.With(slog.String("node", "n-1"))
		log.Debug("not shown")
		at := time.Date(2026, 1, 2, 11, 4, 5, 6e6, time.FixedZone("", 8*60*60))
		line := slog.NewRecord(at, slog.LevelError, "run finished", 0)
		line.AddAttrs(slog.String("a", "b"), slog.Any("err", errors.New("odd")))
		if err := log.Handler().Handle(t.Context(), line); err != nil {
			t.Fatal(err)
		}
		flush()
		if got := out.String(); got != want {
			t.Errorf("%s: got %q, want %q", format, got, want)
		}
	}
}

// Each node has its colour, and there are no colours if they are not requested.
func TestStyle(t *testing.T) {
	p := &Style{on: true}
	one, two := p.node("one"), p.node("longer")
	if one == two || p.node("one") != "\x1b[36mone   \x1b[0m" || !strings.HasPrefix(two, "\x1b[33m") {
		t.Errorf("%q %q %q", one, two, p.node("one"))
	}
	if (&Style{}).Level("error", "x") != "x" || p.Level("error", "x") != "\x1b[31mx\x1b[0m" {
		t.Error("levels")
	}
	if p.message("info", "run started") != "\x1b[1mrun started  \x1b[0m" || p.message("info", "tick") != "tick         " || p.message("warn", "tick") != "\x1b[33mtick         \x1b[0m" {
		t.Error("messages")
	}
	open := func(name string) *os.File {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	device := open("/dev/zero") // a device, as a terminal is
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if !NewStyle(device).on || NewStyle(open(os.DevNull)).on || NewStyle(&bytes.Buffer{}).on {
		t.Error("a terminal is painted for, the null device and a buffer are not")
	}
	t.Setenv("TERM", "dumb")
	if NewStyle(device).on {
		t.Error("a dumb terminal is painted for")
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	if NewStyle(device).on {
		t.Error("NO_COLOR is not respected")
	}
}

func TestMilliseconds(t *testing.T) {
	for text, want := range map[string]string{"0": "0µs", "1": "1.0ms", "10": "10ms", "1000": "1s", "0.25": "250µs", "1.55": "1.6ms", "12.3": "12ms", "999": "999ms", "7256": "7.3s", "3600000": "1h0m0s", "-3": "-3.0ms", "x": "x"} {
		if got := Milliseconds(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func FuzzParseLogLine(f *testing.F) {
	f.Add([]byte(`{"ts":"x","msg":"run finished","took_ms":"1e999","tick":{},"count":[1],"err":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ParseLogLine(text)
		if err != nil {
			return
		}
		if line := l.Render(&Style{}); strings.ContainsAny(line, "\n\r\x1b") {
			t.Errorf("%q", line)
		}
	})
}
