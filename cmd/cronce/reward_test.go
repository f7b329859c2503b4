package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/rewarddemo"
)

// Without a lock five records, and with it one and four refusals.
func TestRewardDemo(t *testing.T) {
	r := cronce(t, "reward", "demo")
	r.want(t, exit.Fine, "5 records, 0 refusals; the work before it was done 5 times.", "1 record, 4 refusals; the work before it was done 1 time.")
	if n := strings.Count(r.stdout, "refused: member-"); n != 4 {
		t.Errorf("%d refusals in\n%s", n, r.stdout)
	}
	r = cronce(t, "reward", "demo", "-o", "json")
	var got struct {
		OK             bool
		Naive, Guarded rewarddemo.Way
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || !got.OK {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	if got.Naive.Records != 5 || got.Naive.Recorded() != 5 || got.Guarded.Records != 1 || got.Guarded.Recorded() != 1 || got.Guarded.Worked != 1 {
		t.Errorf("%+v", got)
	}
}
