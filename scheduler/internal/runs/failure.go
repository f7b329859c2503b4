package runs

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"

	"github.com/cronce/cronce/internal/panictext"
	"github.com/cronce/cronce/scheduler/internal/text"
)

// A Failure is why a function did not succeed. Errors and panic values are the
// user's code: their methods may panic as well, so they are called once, where that
// is recovered, and only their text is kept.
type Failure struct {
	Stack    []byte // of the panic; nil: there was none
	text     string // cut to text.MaxError
	panicked bool   // or ended its goroutine
	cause    error  // why the context had ended; nil: it had not
}

// maxStack bounds, in bytes, the stack of a panic in the log.
const maxStack = 16 << 10

// goexit is the failure of a function that ended its goroutine. It does not change.
var goexit = &Failure{text: "the function ended its goroutine (runtime.Goexit)", panicked: true}

// failed returns what is kept of a function's error.
func failed(err error) (f *Failure) {
	f = &Failure{}
	defer func() {
		if v := recover(); v != nil {
			f.text = text.Cut(fmt.Sprintf("an error of type %T, whose method Error panicked: ", err)+panictext.Of(v), text.MaxError)
		}
	}()
	f.text = text.Cut(err.Error(), text.MaxError)
	return f
}

// panicked returns what is kept of a panic's value.
func panicked(v any) *Failure {
	stack := debug.Stack()
	if _, below, found := bytes.Cut(stack, []byte("\npanic(")); found {
		stack = append([]byte("panic("), below...) // above it is only this function
	}
	return &Failure{text: text.Cut("panic: "+panictext.Of(v), text.MaxError), panicked: true, Stack: stack[:min(len(stack), maxStack)]}
}

// after adds why the context had ended.
func (f *Failure) after(ctx context.Context) {
	if ctx.Err() != nil {
		f.cause = context.Cause(ctx)
		f.text += " (" + text.Cut(f.cause.Error(), text.MaxError) + ")"
	}
}

// Text is the text of the failure; empty if f is nil: there is none.
func (f *Failure) Text() string {
	if f == nil {
		return ""
	}
	return f.text
}
