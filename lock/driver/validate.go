package driver

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The bounds of arguments.
const (
	MinTTL = 500 * time.Millisecond // shorter leases cannot be renewed in time
	MaxTTL = 24 * time.Hour
	MaxKey = 200 // bytes; also of owners, nodes and what else a store keeps

	// MaxKeys is how many keys may be acquired together: a store takes them in one
	// step, and answers no other request meanwhile.
	MaxKeys = 500

	// MaxNumber bounds numbers and fences: stores compute with doubles.
	MaxNumber = 1<<53 - 1

	MaxErrorText = 512 // bytes of an error's text that a journal keeps
)

// CheckKey refuses a key that is empty, longer than MaxKey bytes, not UTF-8, or
// has a character that does not print.
func CheckKey(key string) error {
	if key == "" || !prints(key) {
		return refuse("key", quote(key), "1 to 200 bytes of printable UTF-8")
	}
	return nil
}

// prints reports whether s is at most MaxKey bytes of printable UTF-8.
func prints(s string) bool {
	return len(s) <= MaxKey && printable(s)
}

// printable reports whether s is UTF-8 that prints.
func printable(s string) bool {
	if plain(s) {
		return true
	}
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) && !joins(r) {
			return false
		}
	}
	return true
}

// plain reports whether s is printable ASCII, as nearly all names are.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// joins reports whether r is one of the invisible characters that emoji are
// built with.
func joins(r rune) bool { return r == '\u200d' || r == '\ufe0f' }

// CheckTTL refuses a TTL outside MinTTL to MaxTTL.
func CheckTTL(ttl time.Duration) error {
	if ttl < MinTTL || ttl > MaxTTL {
		return refuse("TTL", ttl.String(), fmt.Sprintf("%v to %v", MinTTL, MaxTTL))
	}
	return nil
}

// CheckFence returns an error that wraps [ErrFence] if a fence is more than a day
// ahead of the store's clock at now, in µs since 1970: stores check the fence that
// they would grant, above the key's last one and the one that its asker has seen.
func CheckFence(fence, now int64) error {
	if fence <= now+maxAhead {
		return nil
	}
	return fmt.Errorf("%w: %d, and the clock says %d", ErrFence, fence, now)
}

const maxAhead = int64(24 * time.Hour / time.Microsecond)

// CheckKeys refuses no keys, more than MaxKeys, and each that CheckKey refuses.
func CheckKeys(keys []string) error {
	if err := checkCount(len(keys)); err != nil {
		return err
	}
	for _, key := range keys {
		if err := CheckKey(key); err != nil {
			return err
		}
	}
	return nil
}

func checkCount(n int) error {
	if n < 1 || n > MaxKeys {
		return refuse("keys", fmt.Sprintf("%d keys", n), fmt.Sprintf("1 to %d keys", MaxKeys))
	}
	return nil
}

func refuse(argument, value, allowed string) error {
	return &ArgumentError{Argument: argument, Value: value, Allowed: allowed}
}

// quote quotes s and cuts it, so that an error cannot be flooded.
func quote(s string) string {
	if len(s) <= 64 {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:64], len(s))
}

// CheckName refuses a node, or what else argument names, that is empty, longer
// than MaxKey bytes, does not print, or has one of the characters | and ; that
// stores keep for themselves.
func CheckName(argument, name string) error {
	if name == "" {
		return refuse(argument, `""`, allowedName)
	}
	return checkWord(argument, name)
}

const allowedName = "1 to 200 bytes of printable UTF-8 without | and ;"

// checkWord is CheckName for what may be empty.
func checkWord(argument, word string) error {
	if strings.IndexByte(word, '|') >= 0 || strings.IndexByte(word, ';') >= 0 || !prints(word) {
		return refuse(argument, quote(word), allowedName)
	}
	return nil
}

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

func inRange(argument string, n, least int64) error {
	if n < least || n > MaxNumber {
		return refuse(argument, fmt.Sprint(n), fmt.Sprintf("%d to %d", least, int64(MaxNumber)))
	}
	return nil
}

func notNegative(argument string, d time.Duration) error {
	if d < 0 {
		return refuse(argument, d.String(), "0 or more")
	}
	return nil
}

// first returns the first of the errors that is one.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
