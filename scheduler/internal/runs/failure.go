package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cronce/cronce/internal/panictext"
	"github.com/cronce/cronce/scheduler/internal/text"
)

// A Failure is why a function did not succeed. Errors and panic values are the
// user's code: their methods may panic as well, so they are called once, where that
// is recovered, and only their text is kept.
type Failure struct {
	Stack    []byte        // of the panic; nil: there was none
	text     string        // cut to text.MaxError
	panicked bool          // or ended its goroutine
	skipped  bool          // there was nothing to do: see Skip
	final    bool          // another try would not help
	after    time.Duration // of RetryAfter, until the next try; 0: as the job's Retry says
	cause    error         // why the context had ended; nil: it had not
}

// maxStack bounds, in bytes, the stack of a panic in the log.
const maxStack = 16 << 10

// goexit is the failure of a function that ended its goroutine. It does not change.
var goexit = &Failure{text: "the function ended its goroutine (runtime.Goexit)", panicked: true, final: true}

// failed returns what is kept of a function's error.
func failed(err error) (f *Failure) {
	f = &Failure{}
	defer func() {
		if v := recover(); v != nil {
			f.text = text.Cut(fmt.Sprintf("an error of type %T, whose method Error panicked: ", err)+panictext.Of(v), text.MaxError)
		}
	}()
	f.text = text.Cut(err.Error(), text.MaxError)
	f.read(err)
	return f
}

// read reads how the error wants the run to go on. An error that asks for several things is skipped, or else
// permanent. One whose methods panic asks for nothing.
func (f *Failure) read(err error) {
	defer func() { _ = recover() }()
	if errors.Is(err, ErrSkipped) {
		f.skipped, f.final = true, true
	} else if _, is := errors.AsType[*permanentError](err); is {
		f.final = true
	} else if later, is := errors.AsType[*retryError](err); is {
		f.after = later.after
	}
}

// panicked returns what is kept of a panic's value.
func panicked(v any) *Failure {
	stack := debug.Stack()
	if _, below, found := bytes.Cut(stack, []byte("\npanic(")); found {
		stack = append([]byte("panic("), below...) // above it is only this function
	}
	return &Failure{text: text.Cut("panic: "+panictext.Of(v), text.MaxError), panicked: true, final: true, Stack: stack[:min(len(stack), maxStack)]}
}

// explain adds why the context had ended. A function that has found nothing to do was not kept
// from its work.
func (f *Failure) explain(ctx context.Context) {
	if ctx.Err() != nil && !f.skipped {
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
