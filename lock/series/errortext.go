package series

import (
	"strings"
	"unicode/utf8"
)

// MaxErrorText is how many bytes of the text of an error a journal keeps.
const MaxErrorText = 512

// The bounds of the errors of shards. Those of the first shards of a number that end badly are kept.
const (
	MaxShardErrors    = 16  // shards
	MaxShardErrorText = 200 // bytes of each
)

// ErrorText returns the part of an error's text that a journal keeps: the first MaxErrorText bytes,
// cut between characters. Bytes that are not UTF-8 become U+FFFD. Control characters stay as they
// are.
func ErrorText(text string) string {
	if len(text) > 2*MaxErrorText {
		text = text[:2*MaxErrorText] // bounds the work for a long text
	}
	return beginning(strings.ToValidUTF8(text, "\uFFFD"), MaxErrorText)
}

// ShardError returns the part of the error's text that a sheet keeps if it has room, for stores that do not keep a [State]: the
// first MaxShardErrorText bytes, cut between characters, if the end is no success.
func (e *EndRequest) ShardError() string {
	if e.OK {
		return ""
	}
	return beginning(e.Error, MaxShardErrorText)
}

// beginning returns the first bytes of a text, cut between characters.
func beginning(text string, end int) string {
	if len(text) <= end {
		return text
	}
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
