package exec

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/redact"
)

// written returns an output that got a text in parts of random sizes, and its lines.
func written(t *testing.T, text string, secrets ...string) (o *output, lines []string) {
	t.Helper()
	o = &output{secrets: redact.New(secrets...), line: func(l string) { lines = append(lines, l) }}
	for rest := []byte(text); len(rest) > 0; {
		n := min(1+rand.IntN(1+len(rest)/3), len(rest))
		o.write(bytes.Clone(rest[:n]))
		rest = rest[n:]
	}
	o.flush()
	return o, lines
}

func TestOutput(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for name, c := range map[string]struct{ text, want string }{
		"lines":             {"one\ntwo\r\n\nthree", "one\ntwo\nthree\n"},
		"no text":           {"a\x1b[31mred\x00\xff\xfeb\tc\n", "a\uFFFD[31mred\uFFFD\uFFFD\uFFFDb\tc\n"},
		"secret":            {"password=hunter22, again hunter22\n", "password=[masked], again [masked]\n"},
		"inside another":    {"hunter22hunter\n", "[masked]\n"},
		"short secret":      {"abc\n", "abc\n"},
		"key":               {"-----BEGIN KEY-----\nMIIEvQ\n", "[masked]\n[masked]\n"},
		"long":              {long + "yyy\nz\n", long + " [cut]\nz\n"},
		"secret at the cut": {long[:maxLine-3] + "hunter22 and more\n", long[:maxLine-3] + "[ma [cut]\n"},
		"just as long":      {long + "\n", long + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			o, lines := written(t, c.text, "hunter22", "abc", "hunter22hunter", "-----BEGIN KEY-----\nMIIEvQ\n")
			if got := string(o.tail); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if strings.Join(lines, "\n")+"\n" != c.want {
				t.Errorf("lines %q", lines)
			}
		})
	}
}

// Masks are shorter than the secrets of a line, so that it ends inside a secret. No part of the
// secret is shown.
func TestSecretAtTheEnd(t *testing.T) {
	secret := strings.Repeat("0123456789", 7)
	o, _ := written(t, strings.Repeat(secret+" ", 1000)+"\n", secret)
	if got := string(o.tail); strings.Contains(got, "012") || !strings.HasSuffix(got, "[masked]  [cut]\n") {
		t.Errorf("the line ends with %q", got[len(got)-100:])
	}
}

// The end of a long output is kept, without splitting characters.
func TestOutputTail(t *testing.T) {
	text := strings.Repeat("äöü\n", 20000)
	o, _ := written(t, text)
	got := o.text()
	if len(got) > maxTail || len(got) < maxTail-4 || !strings.HasSuffix(text, got) || !utf8.ValidString(got) {
		t.Errorf("%d bytes are kept: %q…", len(got), got[:16])
	}
	o, text = &output{}, ""
	for range 3 * maxTail / len("äöü\n") { // at each length
		o.write([]byte("äöü\n"))
		text += "äöü\n"
		if n := len(o.text()); n < min(len(text), maxTail-4) {
			t.Fatalf("%d of %d bytes are kept", n, len(text))
		}
	}
}

// However much a command writes, with or without lines, at most two tails and a line are kept.
func TestOutputIsBounded(t *testing.T) {
	o := &output{}
	chunk := bytes.Repeat([]byte{0xff, 0, 'x', 'y'}, 16<<10)
	for i := range 1000 {
		o.write(chunk)
		if i%10 == 0 {
			o.write([]byte("\n"))
		}
	}
	if n := cap(o.tail) + cap(o.rest); n > 8*maxTail {
		t.Errorf("%d bytes are kept", n)
	}
}

// A process that holds the output and does not belong to the command does not delay the run.
func TestOutputEnds(t *testing.T) {
	o, files, err := openOutput("never read", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files[0].Close()
	defer files[1].Close()
	if _, err := files[0].WriteString("said\n"); err != nil {
		t.Fatal(err)
	}
	if got := o.end(); got != "said\n" {
		t.Errorf("%q", got)
	}
}

func FuzzOutput(f *testing.F) {
	f.Add("a\nb", "secret")
	f.Fuzz(func(t *testing.T, text, secret string) {
		o, lines := written(t, text, secret)
		if !utf8.Valid(o.tail) {
			t.Errorf("%q is no UTF-8", o.tail)
		}
		for _, l := range lines {
			if strings.ContainsAny(l, "\n\r\x1b\x00") && !strings.Contains(text, "\r") || len(l) > maxLine+len(cut) {
				t.Errorf("line %q", l)
			}
		}
	})
}
