package series

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/cronce/cronce/lock/driver"
)

// OutputKeeper is a Numbered driver that keeps the end of the output of runs, for readers alone:
// no answer of the store depends on it.
type OutputKeeper interface {
	// KeepOutput keeps an output, in the place of an earlier one of its number. If it has one of
	// a higher fence, or no room because outputs of higher numbers take it all, it changes nothing. A store may
	// keep none for a series that was never opened.
	KeepOutput(ctx context.Context, o Output) error
	// Output returns the output of a number. The zero Output is the answer if none is kept.
	Output(ctx context.Context, key string, number int64) (Output, error)
}

// The bounds of the outputs that a series keeps. The outputs of the lowest numbers are deleted first.
const (
	MaxOutput   = 16 << 10 // bytes of one
	MaxOutputs  = 20       // outputs
	OutputBytes = 64 << 10 // bytes of all
)

// An Output is the end of the output of a run.
type Output struct {
	Key    string
	Number int64
	Fence  int64  // of the run
	Text   string // at most MaxOutput bytes of UTF-8, with any characters: escape it before showing it
}

// OutputText returns the end of a text that is kept: the last MaxOutput bytes, cut between
// characters. Bytes that are no UTF-8 become U+FFFD.
func OutputText(text string) string {
	cut := len(text) > MaxOutput
	text = strings.ToValidUTF8(text[max(len(text)-MaxOutput-utf8.UTFMax, 0):], "\uFFFD")
	if !cut && len(text) <= MaxOutput {
		return text
	}
	from := max(len(text)-MaxOutput, 0)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return strings.Clone(text[from:]) // not with all of the text behind it
}

// KeptOutputs is for stores: of outputs of so many bytes, the highest numbers first, it returns
// how many are kept.
func KeptOutputs(sizes []int) int {
	bytes := 0
	for i, size := range sizes {
		if bytes += size; i == MaxOutputs || bytes > OutputBytes {
			return i
		}
	}
	return len(sizes)
}

// CheckOutput refuses an output that no store could keep, and cuts its text.
func CheckOutput(o *Output) error {
	o.Text = OutputText(o.Text)
	return cmp.Or(driver.CheckKey(o.Key), driver.CheckRange("number", o.Number, 1), driver.CheckRange("fence", o.Fence, 1))
}
