package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/panictext"
	"github.com/cronce/cronce/scheduler/internal/text"
)

// A Failure is the reason why a function did not succeed. Errors and panic values are user code:
// their methods may panic as well. So these methods are called once, where a panic is recovered,
// and only their text is kept.
type Failure struct {
	Stack    []byte        // of the panic; nil: there was no panic
	text     string        // masked and cut: see text.Error
	panicked bool          // the function panicked or ended its goroutine
	skipped  bool          // there was nothing to do: see Skip
	final    bool          // another try would not help
	after    time.Duration // the wait of RetryAfter before the next try; 0: the job's Retry decides
	cause    error         // the cause with which the context had ended; nil: it had not
}

// maxStack bounds, in bytes, the stack of a panic in the log.
const maxStack = 16 << 10

// goexit is the failure of a function that ended its goroutine. It does not change.
var goexit = &Failure{text: "the function ended its goroutine (runtime.Goexit)", panicked: true}

// failed returns the failure of a function that returned err.
func failed(err error) (f *Failure) {
	f = &Failure{}
	defer func() {
		if v := recover(); v != nil {
			f.text = text.Error(fmt.Sprintf("an error of type %T, whose method Error panicked: ", err) + panictext.Of(v))
		}
	}()
	f.text = text.Error(err.Error())
	f.read(err)
	return f
}

// read sets how the run continues after the error. If the error requests several ways, skip wins,
// then permanent. An error whose methods panic requests nothing.
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

// panicked returns the failure of a function that panicked with v.
func panicked(v any) *Failure {
	stack := debug.Stack()
	if _, below, found := bytes.Cut(stack, []byte("\npanic(")); found {
		stack = append([]byte("panic("), below...) // above it is only this function
	}
	return &Failure{text: text.Error("panic: " + panictext.Of(v)), panicked: true, final: true, Stack: stack[:min(len(stack), maxStack)]}
}

// explain adds the cause with which the context had ended, unless the function returned it. It adds none for a
// function that found nothing to do, because the end of the context did not prevent its work.
func (f *Failure) explain(ctx context.Context) {
	if ctx.Err() == nil || f.skipped {
		return
	}
	f.cause = context.Cause(ctx)
	if cause := text.Error(f.cause.Error()); !strings.Contains(f.text, cause) {
		f.text += " (" + cause + ")"
	}
}

// Text returns the text of the failure, or "" if f is nil.
func (f *Failure) Text() string {
	if f == nil {
		return ""
	}
	return f.text
}
