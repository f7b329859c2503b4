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
	MaxKey = 200 // bytes; also of owners, nodes and other texts that a store keeps

	// MaxKeys is how many keys may be acquired together: a store takes them in one step, and
	// answers no other request meanwhile.
	MaxKeys = 500

	// MaxNumber bounds numbers and fences: stores compute with doubles.
	MaxNumber = 1<<53 - 1
)

// CheckKey returns an *ArgumentError for a key that is empty, longer than MaxKey bytes, not UTF-8,
// or has a character that does not print.
func CheckKey(key string) error {
	if key == "" || !prints(key) {
		return Refuse("key", Quote(key), "1 to 200 bytes of printable UTF-8")
	}
	return nil
}

// prints reports whether s is at most MaxKey bytes of printable UTF-8.
func prints(s string) bool {
	return len(s) <= MaxKey && Printable(s)
}

// Printable reports whether s is UTF-8 that prints.
func Printable(s string) bool {
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

// CheckTTL returns an *ArgumentError for a TTL outside MinTTL to MaxTTL.
func CheckTTL(ttl time.Duration) error {
	if ttl < MinTTL || ttl > MaxTTL {
		return Refuse("TTL", ttl.String(), fmt.Sprintf("%v to %v", MinTTL, MaxTTL))
	}
	return nil
}

// CheckFence returns an error that wraps [ErrFence] if a fence is more than a day ahead of the
// store's clock at now, in µs since 1970. Stores check the fence that they would grant, which is
// above the key's last fence and the fence that the caller has seen.
func CheckFence(fence, now int64) error {
	if fence <= now+maxAhead {
		return nil
	}
	return fmt.Errorf("%w: %d, and the clock says %d", ErrFence, fence, now)
}

const maxAhead = int64(24 * time.Hour / time.Microsecond)

// CheckKeys returns an *ArgumentError for no keys, more than MaxKeys, or a key that CheckKey
// refuses.
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
		return Refuse("keys", fmt.Sprintf("%d keys", n), fmt.Sprintf("1 to %d keys", MaxKeys))
	}
	return nil
}

// Quote quotes s and cuts it, so that it cannot flood an error.
func Quote(s string) string {
	if len(s) <= 64 {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:64], len(s))
}

// CheckName returns an *ArgumentError for a name (a node, or the value of another argument) that is
// empty, longer than MaxKey bytes, does not print, or has one of the characters | and ; that stores
// reserve.
func CheckName(argument, name string) error {
	if name == "" {
		return Refuse(argument, `""`, allowedName)
	}
	return CheckWord(argument, name)
}

const allowedName = "1 to 200 bytes of printable UTF-8 without | and ;"

// CheckWord is CheckName for an argument that may be empty.
func CheckWord(argument, word string) error {
	if strings.IndexByte(word, '|') >= 0 || strings.IndexByte(word, ';') >= 0 || !prints(word) {
		return Refuse(argument, Quote(word), allowedName)
	}
	return nil
}

// CheckRange returns an *ArgumentError for a number that is less than least or more than MaxNumber.
func CheckRange(argument string, n, least int64) error {
	if n < least || n > MaxNumber {
		return Refuse(argument, fmt.Sprint(n), fmt.Sprintf("%d to %d", least, int64(MaxNumber)))
	}
	return nil
}
