package control

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
)

// An operation is the name of one request for one job. It contains the state on which the request
// was decided, and the end of a pause or the run of a cancel. A command that is repeated with it makes the same request, even after
// other changes.
type operation struct {
	name string // random
	seen int64  // the latest change of the job that the caller had read
	at   int64  // Unix milliseconds: the end of a pause, 0 for none; the tick of the run that is cancelled
}

// newOp returns the name of a new operation.
func newOp() string { return rand.Text() }

func (o operation) String() string { return fmt.Sprintf("%s.%d.%d", o.name, o.seen, o.at) }

// readOp parses an operation. Carries is false for a name that the caller has made up, which
// contains no state.
func readOp(text string) (o operation, carries bool) {
	f := strings.Split(text, ".")
	if len(f) != 3 {
		return o, false
	}
	seen, err1 := strconv.ParseInt(f[1], 10, 64)
	at, err2 := strconv.ParseInt(f[2], 10, 64)
	if err1 != nil || err2 != nil || seen < 0 || at < 0 {
		return o, false
	}
	return operation{f[0], seen, at}, true
}
