package driver

import (
	"crypto/rand"
	"strings"
)

// An owner is node/random.number, and a lease's note stands behind it after a space:
// what makes owners and what reads them agree on that here.

// randomText is how much of a random text in base32 holds 65 bits.
const randomText = 13

// maxNode bounds, in bytes, the name that owners begin with: the rest follows it.
const maxNode = MaxKey / 2

// CheckNode refuses the name of a node that an owner cannot begin with.
func CheckNode(node string) error {
	if CheckWord("node", node) != nil || len(node) > maxNode {
		return Refuse("node", Quote(node), "0 to 100 bytes of printable UTF-8 without | and ;")
	}
	return nil
}

// OwnerPrefix returns the beginning of the owners that one process makes, with random
// bits of its own: node/random. and a number in base 36 is an owner.
func OwnerPrefix(node string) string { return node + "/" + rand.Text()[:randomText] + "." }

// MaxNote bounds, in bytes, what a lease says of itself: it stands in the store with the
// owner.
const MaxNote = 64

// CheckNote refuses a note that is longer than MaxNote bytes, does not print, or has one
// of the characters | and ; that stores keep for themselves.
func CheckNote(note string) error {
	if len(note) > MaxNote || CheckWord("note", note) != nil {
		return Refuse("note", Quote(note), "0 to 64 bytes of printable UTF-8 without | and ;")
	}
	return nil
}

// CutNote splits the text of an owner, as stores have it, into the owner and the
// note of its lease (lock.Options.Note); found is false if it has none. The first that looks like
// an owner of a lock.Locker counts, so that no note can make another owner of it.
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

// madeHere reports whether an owner may begin with what OwnerPrefix returned.
func madeHere(owner string) bool {
	owner = owner[strings.LastIndexByte(owner, '/')+1:]
	random, number, found := strings.Cut(owner, ".")
	return found && len(random) == randomText && only(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") &&
		number != "" && only(number, "0123456789abcdefghijklmnopqrstuvwxyz")
}

func only(text, letters string) bool { return strings.Trim(text, letters) == "" }

// NodeOf returns the node in an owner: what stands before the last slash.
func NodeOf(owner string) string {
	owner, _, _ = CutNote(owner)
	return owner[:max(strings.LastIndexByte(owner, '/'), 0)]
}
