package terminal

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
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
		{`{"ts":"2026-01-02T03:04:05.006Z","level":"info","msg":"messages sent","node":"n-1","sent":2,"failed":0}`,
			"03:04:05.006  n-1  messages sent  failed=0  sent=2"},
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
	}
}

// The console shows the same fields as the JSON log, with the fields of the logger before the
// fields of the line.
func TestLoggers(t *testing.T) {
	for format, want := range map[string]string{
		"console": "n-1  run finished   a=b  odd",
		"json":    `"msg":"run finished","node":"n-1","a":"b","err":"odd"}`,
		"auto":    `"msg":"run finished"`,
	} {
		var out bytes.Buffer
		log, flush := NewLogger("info", format, &out)
		log = log.With(slog.String("node", "n-1"))
		log.Debug("not shown")
		log.Error("run finished", slog.String("a", "b"), slog.Any("err", errors.New("odd")))
		flush()
		if got := out.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
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
	t.Setenv("NO_COLOR", "1")
	if NewStyle(device).on {
		t.Error("NO_COLOR is not respected")
	}
}

func TestMilliseconds(t *testing.T) {
	for text, want := range map[string]string{"0": "0µs", "0.25": "250µs", "1.55": "1.6ms", "12.3": "12ms", "999": "999ms", "7256": "7.3s", "3600000": "1h0m0s", "-3": "-3.0ms", "x": "x"} {
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
