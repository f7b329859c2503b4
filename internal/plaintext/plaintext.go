// Package plaintext decides which texts and names a person can have written, in every script: one
// rule for messages and orders.
package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fault returns why a text is not 1 to most printable characters, in words that do not repeat the
// text; "" if it is. Line breaks (\n) are printable if breaks is true. Apart from visible
// characters Fault accepts characters that shape and order scripts: joiners and marks of direction,
// the parts of emoji, even of emoji that are newer than this program, isolates, and marks where a
// word may be broken. A text of invisible characters only is blank. Control characters and
// overrides of the direction, which make a text look like another, are refused.
func Fault(text string, most int, breaks bool) string {
	switch n := utf8.RuneCountInString(text); {
	case text == "":
		return "empty"
	case !utf8.ValidString(text):
		return "not UTF-8"
	case n > most:
		return fmt.Sprintf("%d characters long", n)
	case strings.TrimFunc(text, hidden) == "":
		return "blank"
	}
	position, flag := 0, false
	for _, r := range text {
		position++
		flag = r == blackFlag || flag && isTag(r)
		if !unicode.IsGraphic(r) && !shapes(r) && !(breaks && r == '\n') && !(flag && isTag(r)) {
			return fmt.Sprintf("unprintable at character %d (%U)", position, r)
		}
	}
	return ""
}

// Tags are invisible, and have a meaning only behind a black flag: they name a region.
const blackFlag = '\U0001f3f4'

func isTag(r rune) bool { return r >= '\U000e0020' && r <= '\U000e007f' }

// hidden reports whether r alone is invisible: a space, a character that only shapes others, or a
// filler.
func hidden(r rune) bool {
	switch {
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // a sign around a number
		return false
	case r == '\u2800': // a cell of Braille without dots
		return true
	}
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// shapes reports whether r is a character that is invisible, or not known as visible to this
// program, and that texts in some script need.
func shapes(r rune) bool {
	switch {
	case r >= '\u200b' && r <= '\u200f', // ends of words in Khmer, Thai, Lao and Burmese; joiners of Persian, of Indic scripts and of emoji; marks of direction
		r == '\u00ad', r == '\u061c', r == '\u2060', r == '\u180e', // a soft hyphen; Arabic; no break of a line; Mongolian vowels
		r >= '\u2066' && r <= '\u2069',         // a part with a direction of its own
		r >= '\U0001f000' && r <= '\U0001faff': // emoji, to which each year adds new ones
		return true
	}
	return unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}
