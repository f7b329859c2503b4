package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// A Style colours terminal output. The zero Style adds no colours. It is safe for concurrent use.
type Style struct {
	on    bool
	mu    sync.Mutex
	nodes []string // in order of appearance, which determines their colours
	width int
}

// NewStyle returns a Style with colours if w is a terminal, NO_COLOR is empty and TERM is not dumb.
func NewStyle(w io.Writer) *Style {
	return &Style{on: IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// IsTerminal reports whether a reader or writer is a terminal, or a character device other than the
// null device.
func IsTerminal(stream any) bool {
	if w, ok := stream.(io.Writer); ok {
		stream = Direct(w)
	}
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// nodeColours are distinguishable on dark and on light backgrounds.
var nodeColours = []int{36, 33, 35, 32, 34, 31, 96, 93, 95, 92}

const (
	red    = 31
	yellow = 33
	faint  = 2
	bold   = 1
)

// node pads a node's name to the longest one so far and colours it.
func (p *Style) node(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.nodes, name)
	if i < 0 {
		i = len(p.nodes)
		p.nodes = append(p.nodes, name)
		p.width = max(p.width, len(name))
	}
	return p.paint(nodeColours[i%len(nodeColours)], fmt.Sprintf("%-*s", p.width, name))
}

// message pads a message, and highlights the start of a run.
func (p *Style) message(level, text string) string {
	padded := fmt.Sprintf("%-13s", text)
	if text == "run started" {
		return p.paint(bold, padded)
	}
	return p.Level(level, padded)
}

// Level colours a text by the level of its log line.
func (p *Style) Level(level, text string) string {
	switch level {
	case "error":
		return p.paint(red, text)
	case "warn":
		return p.paint(yellow, text)
	case "debug":
		return p.paint(faint, text)
	}
	return text
}

func (p *Style) paint(code int, text string) string {
	if !p.on {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, text)
}
