// Package redact prepares text of other programs for display: secrets are masked, and the text
// becomes valid, printable UTF-8.
package redact

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	minSecret = 6 // bytes: shorter texts would be masked everywhere
	mask      = "[masked]"
)

// MaxSecret is how many bytes of a secret are compared. A caller that cuts text before it is masked
// keeps as many bytes more: a secret that begins before the cut is then complete. Masks may be
// shorter than secrets, so that the end of these bytes may be displayed, too: see [Secrets.Begin].
const MaxSecret = 4 << 10

// Secrets are texts to be masked.
type Secrets []string

// New returns the lines of texts as secrets. It omits secrets shorter than 6 bytes. The longest
// come first, since one may contain another.
func New(texts ...string) (s Secrets) {
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= minSecret {
				s = append(s, line[:min(len(line), MaxSecret)])
			}
		}
	}
	slices.SortFunc(s, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(s)
}

// Line masks the secrets in a line, and parts that look like secrets: see [Patterns]. It replaces
// bytes that are not printable text.
func (s Secrets) Line(line string) string { return printable(s.masked(line)) }

// Begin is Line for a line that was cut: it omits the part of a secret with which the line may end.
func (s Secrets) Begin(line string) string {
	line = s.known(line)
	whole := line
	for _, secret := range s {
		for n := min(len(secret)-1, len(line)); n > len(line)-len(whole); n-- {
			if strings.HasSuffix(line, secret[:n]) {
				whole = line[:len(line)-n]
			}
		}
	}
	return printable(maskPatterns(whole, 0, true))
}

func (s Secrets) masked(line string) string { return Patterns(s.known(line)) }

// known masks the secrets whose values are known.
func (s Secrets) known(line string) string {
	for _, secret := range s {
		line = strings.ReplaceAll(line, secret, mask)
	}
	return line
}

func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, strings.TrimSuffix(line, "\r"))
}

// Text masks the secrets in each line of a text, and returns its first n bytes: see Cut. A text of
// n+MaxSecret bytes or more counts as cut.
func (s Secrets) Text(text string, n int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		switch {
		case ended:
			b.WriteString(s.Line(line) + "\n")
		case len(text) < n+MaxSecret:
			b.WriteString(s.Line(line))
		default:
			b.WriteString(s.Begin(line))
		}
	}
	return Cut(b.String(), n)
}

// Cut returns the first n bytes of a text, or fewer so that no character is cut.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
