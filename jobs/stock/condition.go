package stock

import (
	"crypto/sha1" // as the scripts have it: it distinguishes versions, and guards nothing
	"encoding/hex"
	"strconv"
	"strings"
)

// A Condition says for which version of a product a change is meant. The zero Condition is for
// any, and for a product that is not known.
type Condition struct {
	Absent   bool     // only while it is not known; nothing else counts then
	Known    bool     // only while it is known
	Versions []string // only while it is one of these: see Product.Version
}

// text is the condition as the store wants it.
func (c Condition) text() string {
	switch {
	case c.Absent:
		return "-"
	case len(c.Versions) > 0:
		return strings.Join(c.Versions, ",")
	case c.Known:
		return "*"
	}
	return ""
}

// Version distinguishes what a seller may change of a product, what was put in and how it is sold, from
// what that was before. It does not change with its orders.
func (p Product) Version() string {
	sum := sha1.Sum([]byte(strconv.FormatInt(p.Put, 10) + " " + p.line()))
	return hex.EncodeToString(sum[:])[:16]
}
