package main

import (
	"fmt"
	"regexp"
)

// Wordy lines have a pronoun in place of the noun it stands for. A question may have one.
var (
	pronoun  = regexp.MustCompile(`(?i)\b(what|whatever|th(at|ose)\s+of|of\s+wh(ich|om))\b`)
	question = regexp.MustCompile(`(?i)\bwhat\s+(is|are|was|were|happens)\b[^.]*\?`)
)

func wordy(text string) bool { return pronoun.MatchString(text) && !question.MatchString(text) }

// wordyLines returns the wordy comments and texts of a file that is no test, as PATH:LINE: TEXT.
func (f *file) wordyLines() (found []string) {
	if f.test {
		return nil
	}
	for _, lines := range [][]line{f.comments, f.texts} {
		for _, l := range lines {
			if wordy(l.text) {
				found = append(found, fmt.Sprintf("%s:%d: %s", f.path, l.number, l.text))
			}
		}
	}
	return found
}
