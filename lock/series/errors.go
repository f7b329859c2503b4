package series

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// ErrReplaced is the cause of a numbered lease's ended context when a newer
// number waits for its end. The lease is still held: end it soon.
var ErrReplaced = errors.New("lock: replaced by a newer number")

// ErrNotOpen is the answer to a pause, or a resume, of a series that was never opened.
var ErrNotOpen = errors.New("lock: the series was never opened")

// MaxErrorText is how many bytes of the text of an error a journal keeps.
const MaxErrorText = 512

// ErrorText returns what a journal keeps of an error's text: the first MaxErrorText
// bytes, cut between characters. Bytes that are no UTF-8 become U+FFFD. Control
// characters stay as they are.
func ErrorText(text string) string {
	if len(text) > 2*MaxErrorText {
		text = text[:2*MaxErrorText] // so that a long text costs no more
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= MaxErrorText {
		return text
	}
	end := MaxErrorText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
