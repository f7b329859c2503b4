package job

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// Each case has the uses of former specs as since-last, the mark, and the time since when the new
// spec has been in force. The first spec has each minute, the others each even minute. The result
// has the uses that may have undecided ticks, with their ends.
func TestFormers(t *testing.T) {
	const minute = int64(time.Minute / time.Millisecond)
	for name, test := range map[string]struct {
		uses  [][2]int64
		mark  int64
		since int64
		want  string
	}{
		"one, until it was replaced":                                      {[][2]int64{{0, 10}}, 10, 30, "0-30"},
		"two in use at once, one of them seen later":                      {[][2]int64{{0, 10}, {5, 12}}, 11, 30, "0-30 5-30"},
		"two, one of which decided the mark, or both did":                 {[][2]int64{{0, 10}, {5, 12}}, 12, 30, "0-30 5-30"},
		"one that was replaced, soon before all nodes went":               {[][2]int64{{0, 10}, {11, 12}}, 10, 30, "0-11 11-30"},
		"one that was replaced by one that decided ticks":                 {[][2]int64{{-2, 9}, {0, 10}, {10, 12}}, 11, 30, "10-30"},
		"the first one, to which the nodes had gone back":                 {[][2]int64{{0, 12}, {5, 11}}, 13, 30, "0-30"},
		"one that was no longer in use":                                   {[][2]int64{{0, 5}, {5, 10}}, 10, 30, "5-30"},
		"one that was not, with undecided ticks":                          {[][2]int64{{0, 5}, {7, 10}}, 4, 30, "0-7 7-30"},
		"the first one, to which the nodes had gone back, before a third": {[][2]int64{{0, 10}, {4, 8}, {11, 12}}, 5, 30, "0-11 4-8 11-30"},
		"one that was last seen before the mark, and replaced after it":   {[][2]int64{{0, 5}, {20, 25}}, 8, 30, "0-20 20-30"},
		"one that is in use beside the new one":                           {[][2]int64{{0, 35}}, 30, 30, "0-35"},
		"none":                                                            {nil, 10, 30, ""},
	} {
		s := series.Series{Mark: test.mark * minute, Since: test.since * minute}
		for i, u := range test.uses {
			s.Former = append(s.Former, series.RevisionUse{Revision: fmt.Sprint(i), Spec: []string{"* * * * *", "*/2 * * * *", "*/2 * * * *"}[i], Zone: "UTC", Policies: "jitter:5s", Since: u[0] * minute, First: u[0] * minute, Last: u[1] * minute})
		}
		got := ""
		for _, f := range Formers(&s, 2*time.Minute) {
			if got != "" {
				got += " "
			}
			got += fmt.Sprintf("%d-%d", f.Since/minute, f.Until/minute)
			if f.Revision == "" || f.Policy.Jitter != 5*time.Second {
				t.Errorf("%s: the use has the revision %q and the policies %q", name, f.Revision, f.Policy)
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	s := series.Series{Since: 2, Former: []series.RevisionUse{{Spec: "every day", Zone: "UTC", Last: 1}, {Spec: "@daily", Zone: "Nowhere", Last: 1}}}
	if got := Formers(&s, time.Minute); len(got) > 0 {
		t.Errorf("specs that cannot be read are returned as %+v", got)
	}
}
