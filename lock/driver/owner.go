package driver

import (
	"crypto/rand"
	"strings"
)

// An owner is node/random.number, followed by a space and the lease's note if there is one. The
// functions that write and read owners agree on that format here.

// randomText is the length of a random base32 text that holds 65 bits.
const randomText = 13

// maxNode bounds, in bytes, the node in an owner, so that the rest fits after it.
const maxNode = MaxKey / 2

// CheckNode returns an *ArgumentError if an owner cannot begin with node.
func CheckNode(node string) error {
	if CheckWord("node", node) != nil || len(node) > maxNode {
		return Refuse("node", Quote(node), "0 to 100 bytes of printable UTF-8 without | and ;")
	}
	return nil
}

// OwnerPrefix returns the beginning of the owners that one process makes, with random bits of its
// own: it has the form node/random. and a number in base 36 after it makes an owner.
func OwnerPrefix(node string) string { return node + "/" + rand.Text()[:randomText] + "." }

// MaxNote bounds, in bytes, the note of a lease, which the store keeps with the owner.
const MaxNote = 64

// CheckNote returns an *ArgumentError if a note is longer than MaxNote bytes, does not print, or
// has one of the characters | and ; that stores reserve.
func CheckNote(note string) error {
	if len(note) > MaxNote || CheckWord("note", note) != nil {
		return Refuse("note", Quote(note), "0 to 64 bytes of printable UTF-8 without | and ;")
	}
	return nil
}

// CutNote splits the text of an owner, as stores keep it, into the owner and the note of its lease
// (lock.Options.Note); found is false if there is no note. The shortest prefix that looks like an
// owner of a lock.Locker is the owner, so that no note can change it.
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

// madeHere reports whether owner has the form that OwnerPrefix and a number make.
func madeHere(owner string) bool {
	owner = owner[strings.LastIndexByte(owner, '/')+1:]
	random, number, found := strings.Cut(owner, ".")
	return found && len(random) == randomText && only(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") &&
		number != "" && only(number, "0123456789abcdefghijklmnopqrstuvwxyz")
}

func only(text, letters string) bool { return strings.Trim(text, letters) == "" }

// NodeOf returns the node of an owner: the part before the last slash.
func NodeOf(owner string) string {
	owner, _, _ = CutNote(owner)
	return owner[:max(strings.LastIndexByte(owner, '/'), 0)]
}
