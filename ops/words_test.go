package ops

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/cronce/cronce/lock/series"
)

// Equal texts of two journals share their memory, which is not the memory of the reply that had them. However many texts there
// are, a bounded number is known.
func TestEachTextIsKeptOnce(t *testing.T) {
	read := func(reply string) *series.Journal {
		return &series.Journal{Lines: []series.Line{{Node: reply[:5], Reason: reply[6:]}}, Revisions: []series.RevisionUse{{Node: strings.Clone(reply[:5])}}}
	}
	w := words{}
	a, b := read("web-1 overlap"), read(strings.Clone("web-1 deadline"))
	for _, j := range []*series.Journal{a, b} {
		before := j.Lines[0]
		if w.in(j); j.Lines[0] != before {
			t.Errorf("%+v became %+v", before, j.Lines[0])
		}
	}
	first := unsafe.StringData(a.Lines[0].Node)
	for _, same := range []string{b.Lines[0].Node, a.Revisions[0].Node, b.Revisions[0].Node} {
		if unsafe.StringData(same) != first {
			t.Errorf("%q is in memory twice", same)
		}
	}
	reply := strings.Clone("web-2 paused")
	c := read(reply)
	if w.in(c); unsafe.StringData(c.Lines[0].Node) == unsafe.StringData(reply) {
		t.Error("the whole reply is kept")
	}
	for i := range 2 * mostWords {
		w.once(fmt.Sprint(i))
	}
	if len(w) > mostWords {
		t.Errorf("%d texts are known, at most %d are wanted", len(w), mostWords)
	}
}
