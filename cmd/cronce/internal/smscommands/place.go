package smscommands

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/boundedfile"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/sms"
)

// placeEvery is the interval at which an import stores its position. Rows that are imported again
// after a kill are known, and change nothing.
const placeEvery = time.Second

// An importPlace is a file with the position of an import.
type importPlace struct {
	file  string
	last  sms.Checkpoint
	saved time.Time
	err   error // the first error of a write
}

// load reads the position; without a file it is the beginning.
func (p *importPlace) load() (sms.Checkpoint, error) {
	text, err := boundedfile.Read(p.file, 4<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return sms.Checkpoint{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p.last)
	}
	if err == nil && (p.last.Rows < 0 || p.last.Accepted+p.last.Known+p.last.Refused != p.last.Rows) {
		err = errors.New("its numbers do not add up")
	}
	if err != nil {
		return sms.Checkpoint{}, fmt.Errorf("%s cannot be read: remove it to begin anew: %w", p.file, err)
	}
	return p.last, nil
}

// reached sets the position, and stores it from time to time.
func (p *importPlace) reached(c sms.Checkpoint) {
	p.last = c
	if time.Since(p.saved) >= placeEvery {
		p.saved = time.Now()
		p.save()
	}
}

// save replaces the file in one step.
func (p *importPlace) save() {
	text, err := json.Marshal(p.last)
	if err == nil {
		err = os.WriteFile(p.file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(p.file+".new", p.file)
	}
	if p.err == nil {
		p.err = err
	}
}

// leave removes the file of a complete import, and writes that of an incomplete one.
func (p *importPlace) leave(done bool) error {
	if !done {
		if p.last.Rows > 0 {
			p.save()
		}
		return p.err
	}
	if err := os.Remove(p.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// A progress is a reader that shows on a terminal how much of a file was read. It shows nothing
// elsewhere.
type progress struct {
	in    io.Reader
	w     io.Writer // nil: nothing is shown
	size  int64     // of the file; 0: not known
	read  int64
	shown time.Time
}

func newProgress(w io.Writer, in io.Reader) *progress {
	p := &progress{in: in}
	if terminal.IsTerminal(w) {
		p.w = w
	}
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			p.size = info.Size()
		}
	}
	return p
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	p.read += int64(n)
	return n, err
}

const (
	barWidth  = 30
	showEvery = 100 * time.Millisecond
)

func (p *progress) show(rows int) {
	if p.w == nil || time.Since(p.shown) < showEvery {
		return
	}
	p.shown = time.Now()
	fmt.Fprint(p.w, "\r", p.line(rows), "\x1b[K")
}

// line returns the bar, or only the number of rows if the size is unknown.
func (p *progress) line(rows int) string {
	if p.size <= 0 {
		return terminal.Plural(rows, "row")
	}
	part := min(1, float64(p.read)/float64(p.size))
	full := int(part * barWidth)
	bar := make([]byte, barWidth)
	for i := range bar {
		bar[i] = ' '
		if i < full {
			bar[i] = '='
		}
	}
	return fmt.Sprintf("[%s] %3.0f%%  %s", bar, part*100, terminal.Plural(rows, "row"))
}

func (p *progress) end() {
	if p.w != nil && !p.shown.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
