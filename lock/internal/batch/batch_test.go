package batch_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/cronce/cronce/lock/internal/batch"
)

// However many requests of a batch are bad, and wherever they are, each of them is refused in its place
// with its own error, and the others are sent together and answered in theirs. A batch of bad requests
// alone is not sent.
func TestSendRefusesEachBadRequest(t *testing.T) {
	for bad := range 1 << 5 {
		var sent []int
		calls := 0
		got := batch.Send([]int{0, 1, 2, 3, 4},
			func(q *int) error {
				if bad>>*q&1 == 1 {
					return errors.New(strconv.Itoa(*q))
				}
				return nil
			},
			func(qs []int) []string {
				calls++
				sent = qs
				answers := make([]string, len(qs))
				for i, q := range qs {
					answers[i] = "sent " + strconv.Itoa(q)
				}
				return answers
			},
			func(a *string, q *int, err error) { *a = "refused " + strconv.Itoa(*q) + " " + err.Error() })
		var want []string
		var good []int
		for q := range 5 {
			if bad>>q&1 == 1 {
				want = append(want, "refused "+strconv.Itoa(q)+" "+strconv.Itoa(q))
				continue
			}
			good = append(good, q)
			want = append(want, "sent "+strconv.Itoa(q))
		}
		if !slices.Equal(got, want) || !slices.Equal(sent, good) || calls != min(len(good), 1) {
			t.Errorf("with the bad requests %05b the answers are %q, want %q; %d batches were sent, the last is %v", bad, got, want, calls, sent)
		}
	}
}
