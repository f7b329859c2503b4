package scheduler

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/cronce/cronce/internal/panictext"
)

// A runError is why a function did not succeed. Errors and panic values are the
// user's code: their methods may panic as well, so they are called once, where that
// is recovered, and only their text is kept.
type runError struct {
	text     string // cut to maxErr
	panicked bool   // or ended its goroutine
	stack    []byte // of the panic
	cause    error  // why the context had ended; nil: it had not
}

// The bounds, in bytes, of what one failure may write to the log.
const (
	maxErr   = 4 << 10
	maxStack = 16 << 10
)

// goexit is the failure of a function that ended its goroutine.
func goexit() *runError {
	return &runError{text: "the function ended its goroutine (runtime.Goexit)", panicked: true}
}

// failed returns what is kept of a function's error.
func failed(err error) (f *runError) {
	f = &runError{}
	defer func() {
		if v := recover(); v != nil {
			f.text = cut(fmt.Sprintf("an error of type %T, whose method Error panicked: ", err)+panictext.Of(v), maxErr)
		}
	}()
	f.text = cut(err.Error(), maxErr)
	return f
}

// panicked returns what is kept of a panic's value.
func panicked(v any) *runError {
	stack := debug.Stack()
	if _, below, found := bytes.Cut(stack, []byte("\npanic(")); found {
		stack = append([]byte("panic("), below...) // above it is only this function
	}
	return &runError{text: cut("panic: "+panictext.Of(v), maxErr), panicked: true, stack: stack[:min(len(stack), maxStack)]}
}

// after adds why the context had ended.
func (f *runError) after(ctx context.Context) {
	if ctx.Err() != nil {
		f.cause = context.Cause(ctx)
		f.text += " (" + cut(f.cause.Error(), maxErr) + ")"
	}
}

// err is the text of a failure, empty if there is none.
func (f *runError) err() string {
	if f == nil {
		return ""
	}
	return f.text
}

// cut returns at most the first n bytes of a text, without half a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// shown quotes what a user has given, and cuts it: a message cannot be flooded.
func shown(text string) string {
	const most = 140 // every name that is allowed
	if len(text) <= most {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("%s (%d bytes)", strconv.Quote(cut(text, most)), len(text))
}
