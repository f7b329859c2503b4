package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// Ten of 10,000 jobs get another spec.
func BenchmarkReplace(b *testing.B) {
	jobs := make([]scheduler.Job, 10_000)
	for i := range jobs {
		jobs[i] = scheduler.Job{Name: fmt.Sprintf("job%d", i), Spec: fmt.Sprintf("%d * * * *", i%60), Func: nothing}
	}
	n, err := scheduler.New(scheduler.Config{Name: "n", Store: memlock.New(memlock.Options{}), Jobs: jobs})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		some := jobs[1000:1010]
		for k := range some {
			some[k].Spec = fmt.Sprintf("%d 3 * * *", (i+k)%60)
		}
		if err := n.Replace(some...); err != nil {
			b.Fatal(err)
		}
	}
}
