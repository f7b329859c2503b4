// Package panictext prints the value of a panic. The value comes from user code, so printing it may
// panic again.
package panictext

import (
	"fmt"

	"github.com/cronce/cronce/internal/redact"
)

// Of returns a panic's value as text, with secrets masked, and does not panic. Package fmt recovers a panic of the
// value's methods, but not a panic whose own value panics as well.
func Of(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a %T, whose methods panic", v)
		}
	}()
	return redact.Patterns(fmt.Sprint(v))
}
