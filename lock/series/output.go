package series

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/cronce/cronce/lock/driver"
)

// OutputKeeper is a Numbered driver that keeps the end of the output of runs. Only readers use it:
// no answer of the store depends on it.
type OutputKeeper interface {
	// KeepOutput stores an output, and replaces an earlier one of its number. It changes nothing if
	// the store has an output of the number with a higher fence, or if outputs of higher numbers
	// take all the room. One that failed is above all that did not. A store may keep no output for a series that was never opened.
	KeepOutput(ctx context.Context, o Output) error
	// Output returns the output of a number, or the zero Output if none is kept.
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
	Key    string `json:"-"`
	Number int64  `json:"number"`
	Fence  int64  `json:"fence"`            // of the run, or of the shard
	Failed bool   `json:"failed,omitempty"` // of a shard that failed, which the outputs of other shards do not replace
	Text   string `json:"text"`             // at most MaxOutput bytes of UTF-8, with any characters: escape it before you show it
}

// Signed returns the fence with a minus before it if the output failed, for stores that keep both as one number, and the
// least and the greatest of these numbers whose outputs it replaces.
func (o *Output) Signed() (fence, least, most int64) {
	if o.Failed {
		return -o.Fence, -o.Fence, driver.MaxNumber
	}
	return o.Fence, 0, o.Fence
}

// SetSigned sets the fence and whether the output failed from a number that Signed has returned.
func (o *Output) SetSigned(fence int64) { o.Fence, o.Failed = max(fence, -fence), fence < 0 }

// OutputText returns the end of a text that is kept: the last MaxOutput bytes, cut between
// characters. Bytes that are not UTF-8 become U+FFFD.
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
	return strings.Clone(text[from:]) // a clone, which does not keep all of the text in memory
}

// KeptOutputs returns how many outputs a store keeps. Sizes are their lengths in bytes, the highest
// numbers first.
func KeptOutputs(sizes []int) int {
	bytes := 0
	for i, size := range sizes {
		if bytes += size; i == MaxOutputs || bytes > OutputBytes {
			return i
		}
	}
	return len(sizes)
}

// Check cuts the text of an output, and returns an *ArgumentError for one that no store
// supports.
func (o *Output) Check() error {
	o.Text = OutputText(o.Text)
	return cmp.Or(driver.CheckKey(o.Key), driver.CheckRange("number", o.Number, 1), driver.CheckRange("fence", o.Fence, 1))
}
