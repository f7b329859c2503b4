package renew_test

import (
	"fmt"
	"testing"

	"github.com/cronce/cronce/lock/internal/renew"
)

// A process remembers a bounded number of keys, and always the latest ones.
func TestFloorsAreBounded(t *testing.T) {
	var f renew.FenceFloors
	for i := range int64(5 * renew.FloorsKept) {
		f.Raise(fmt.Sprint("key ", i), i+1)
		f.Raise("used", f.Of("used")+1)
		if last := i - renew.FloorsKept/2; last >= 0 && f.Of(fmt.Sprint("key ", last)) != last+1 {
			t.Fatalf("key %d is forgotten after %d more", last, renew.FloorsKept/2)
		}
	}
	if got := f.Of("used"); got != 5*renew.FloorsKept {
		t.Errorf("the floor of a key that is used all the time is %d", got)
	}
	f.Raise("used", 1)
	if got := f.Of("used"); got != 5*renew.FloorsKept {
		t.Errorf("a lower fence made the floor %d", got)
	}
	if n := f.Len(); n > 2*renew.FloorsKept {
		t.Errorf("%d keys are remembered", n)
	}
}
