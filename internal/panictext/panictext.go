// Package panictext prints what a panic left behind. The value is the code's of which
// nothing is known but that it panicked: its methods may panic in turn.
package panictext

import "fmt"

// Of returns a panic's value as text, and does not panic. Package fmt recovers a panic
// of the value's methods, but not one whose own value panics as well.
func Of(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a %T, whose methods panic", v)
		}
	}()
	return fmt.Sprint(v)
}
