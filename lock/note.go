package lock

import "strings"

// MaxNote bounds, in bytes, what a lease says of itself: it stands in the store with the
// owner.
const MaxNote = 64

// CheckNote refuses a note that is longer than MaxNote bytes, does not print, or has one
// of the characters | and ; that stores keep for themselves.
func CheckNote(note string) error {
	if len(note) > MaxNote || checkWord("note", note) != nil {
		return refuse("note", quote(note), "0 to 64 bytes of printable UTF-8 without | and ;")
	}
	return nil
}

// owner is Owner for a lease with a note, which stands behind a space. The owner is
// its own without it.
func (l *Locker) owner(note string) string {
	if note == "" {
		return l.Owner()
	}
	return l.Owner() + " " + note
}

// CutNote splits the text of an owner, as stores have it, into the owner and the
// [Options].Note of its lease; found is false if it has none. The first that looks like
// an owner of a Locker counts, so that no note can make another owner of it.
func CutNote(text string) (owner, note string, found bool) {
	for at := 0; ; at++ {
		i := strings.IndexByte(text[at:], ' ')
		if i < 0 {
			return text, "", false
		}
		if at += i; madeHere(text[:at]) {
			return text[:at], text[at+1:], true
		}
	}
}

// madeHere reports whether an owner may be one that Locker.Owner returned.
func madeHere(owner string) bool {
	owner = owner[strings.LastIndexByte(owner, '/')+1:]
	random, number, found := strings.Cut(owner, ".")
	return found && len(random) == randomText && only(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") &&
		number != "" && only(number, "0123456789abcdefghijklmnopqrstuvwxyz")
}

func only(text, letters string) bool { return strings.Trim(text, letters) == "" }
