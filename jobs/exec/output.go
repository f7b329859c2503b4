package exec

import (
	"bytes"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/redact"
)

const (
	maxTail = 16 << 10 // bytes of the output that are kept
	maxLine = 8 << 10  // bytes of a line; the rest of it is dropped
	lingers = time.Second
	cut     = " [cut]"
)

// An output reads the output of a command as fast as it is written, and keeps the end of it. All
// lines are masked and valid UTF-8.
type output struct {
	r       *os.File
	line    func(string) // gets each line; nil: lines are not passed on
	secrets redact.Secrets
	done    chan struct{} // closed when all output was read

	rest    []byte // the part of a line that has not ended
	dropped bool   // the end of this line was dropped
	tail    []byte // up to twice maxTail
}

// openOutput returns an output, and the files for the command: the one that it writes to and, if
// there is an input, the one that it reads from. The caller closes them once the command has them.
func openOutput(stdin string, secrets []string, line func(string)) (*output, []*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	files := []*os.File{w}
	if stdin != "" {
		in, write, err := os.Pipe()
		if err != nil {
			_, _ = r.Close(), w.Close()
			return nil, nil, err
		}
		files = append(files, in)
		go func() { // ends when the command has read the input, or is over
			_, _ = io.WriteString(write, stdin)
			_ = write.Close()
		}()
	}
	o := &output{r: r, line: line, secrets: redact.New(secrets...), done: make(chan struct{})}
	go o.read()
	return o, files, nil
}

// end waits until all output was read, and returns the end of it. It waits at most a second,
// because a process that does not belong to the command may hold its output open.
func (o *output) end() string {
	_ = o.r.SetReadDeadline(time.Now().Add(lingers))
	<-o.done
	_ = o.r.Close()
	return o.text()
}

func (o *output) read() {
	defer close(o.done)
	chunk := make([]byte, 64<<10)
	for {
		n, err := o.r.Read(chunk)
		o.write(chunk[:n])
		if err != nil {
			o.flush()
			return
		}
	}
}

// write adds a part of the output.
func (o *output) write(p []byte) {
	for len(p) > 0 {
		part, ended := p, false
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			part, ended = p[:i], true
		}
		p = p[min(len(part)+1, len(p)):]
		room := maxLine + redact.MaxSecret - len(o.rest) // so that a secret that begins in the kept part is read whole
		o.dropped = o.dropped || len(part) > room
		o.rest = append(o.rest, part[:min(len(part), room)]...)
		if ended {
			o.flush()
		}
	}
}

// flush ends a line.
func (o *output) flush() {
	if len(o.rest) == 0 {
		return
	}
	mask := o.secrets.Line
	if o.dropped {
		mask = o.secrets.Begin
	}
	text := mask(string(o.rest))
	if o.dropped || len(text) > maxLine {
		text = redact.Cut(text, maxLine) + cut
	}
	o.rest, o.dropped = o.rest[:0], false
	if o.line != nil {
		o.line(text)
	}
	o.tail = append(append(o.tail, text...), '\n')
	if len(o.tail) > 2*maxTail {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-maxTail:]...)
	}
}

// text returns the end of the output.
func (o *output) text() string {
	t := o.tail[max(len(o.tail)-maxTail, 0):]
	for len(t) > 0 && !utf8.RuneStart(t[0]) {
		t = t[1:]
	}
	return string(t)
}

// lastLine returns the last line that is not blank.
func lastLine(text string) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
