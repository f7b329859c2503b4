package series

import (
	"strings"
	"unicode/utf8"
)

// MaxErrorText is how many bytes of the text of an error a journal keeps.
const MaxErrorText = 512

// ErrorText returns the part of an error's text that a journal keeps: the first MaxErrorText bytes,
// cut between characters. Bytes that are not UTF-8 become U+FFFD. Control characters stay as they
// are.
func ErrorText(text string) string {
	if len(text) > 2*MaxErrorText {
		text = text[:2*MaxErrorText] // bounds the work for a long text
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
