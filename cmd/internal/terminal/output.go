package terminal

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// An Output is the standard output of a command. It keeps the first error of a write, because most
// commands print line by line and leave the error to the end. That the reader has gone is no error:
// a command that outlives it decides what follows. It is safe for concurrent use if its writer is.
type Output struct {
	to    io.Writer
	mu    sync.Mutex
	first error
}

// NewOutput returns an Output that writes to w.
func NewOutput(w io.Writer) *Output { return &Output{to: w} }

func (o *Output) Write(data []byte) (int, error) {
	n, err := o.to.Write(data)
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.first == nil {
			o.first = err
		}
	}
	return n, err
}

// Err returns the first error of a write; nil: all output was written, as far as it had a reader.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// Direct returns the writer below an Output, which may be a file that a child process can inherit, or
// w itself if it is none.
func Direct(w io.Writer) io.Writer {
	if o, ok := w.(*Output); ok {
		return o.to
	}
	return w
}
