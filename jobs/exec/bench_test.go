package exec_test

import (
	"context"
	"os"
	osexec "os/exec"
	"testing"

	"github.com/cronce/cronce/jobs/exec"
	"github.com/cronce/cronce/scheduler"
)

// BenchmarkCommand measures an empty command from its start to its end, compared with os/exec.
func BenchmarkCommand(b *testing.B) {
	path, err := osexec.LookPath("true")
	if err != nil {
		b.Skip(err)
	}
	b.Run("os/exec", func(b *testing.B) {
		for b.Loop() {
			if err := osexec.Command(path).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("warden", func(b *testing.B) {
		r, err := exec.New(exec.Config{Warden: []string{"warden"}})
		if err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		f, err := r.Func(exec.Command{Args: []string{path}})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := f(b.Context(), &scheduler.Run{ID: "bench/" + os.Args[0]}); err != nil {
				b.Fatal(err)
			}
		}
		stop()
		<-ended
	})
}
