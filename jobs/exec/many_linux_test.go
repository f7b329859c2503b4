package exec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cronce/cronce/jobs/exec"
	"github.com/cronce/cronce/scheduler"
)

// Many runs, several at a time, end with all sorts of exit codes and by signals. Each run gets its own code, and
// neither a zombie nor a descriptor is left.
func TestManyExitCodes(t *testing.T) {
	const runs, atOnce = 256, 16 // each code is there that is no multiple of ten
	r := runner(t)
	if err := run(t, t.Context(), r, sh("true")); err != nil { // the warden is there
		t.Fatal(err)
	}
	warden := wardenOf(t, os.Getpid())
	before, ofWarden := descriptors(t, os.Getpid()), descriptors(t, warden)
	var next atomic.Int64
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for i := next.Add(1); i <= runs; i = next.Add(1) {
				script, want := fmt.Sprintf("exit %d", i%256), exec.ExitError{Code: int(i % 256)}
				if i%10 == 0 {
					script, want = "kill -KILL $$", exec.ExitError{Signal: "SIGKILL"}
				}
				f, err := r.Func(sh(script))
				if err == nil {
					err = f(t.Context(), &scheduler.Run{ID: fmt.Sprintf("test/job@%d", i), Job: "job", Fence: i, Attempt: 1})
				}
				got, _ := errors.AsType[*exec.ExitError](err)
				switch {
				case want == (exec.ExitError{}) && err != nil, want != (exec.ExitError{}) && (got == nil || *got != want):
					t.Errorf("%s: %v", script, err)
				}
			}
		})
	}
	all.Wait()
	if after := descriptors(t, os.Getpid()); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	eventually(t, "a warden with as few descriptors as before", func() bool { // it may still search for processes
		return descriptors(t, warden) <= ofWarden
	})
	for _, child := range children(t, os.Getpid()) {
		for _, orphan := range children(t, child) {
			t.Errorf("the warden %d has the child %d", child, orphan)
		}
	}
}

// Commands that cannot be started, because their runs end before there is a warden, leave no descriptor.
func TestNoDescriptorIsLeftByAFailedStart(t *testing.T) {
	r, err := exec.New(exec.Config{Warden: []string{"warden"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	before := descriptors(t, os.Getpid())
	for range 100 {
		if err := run(t, ctx, r, sh("true")); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if after := descriptors(t, os.Getpid()); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// children are the processes whose parent is a process, zombies too.
func children(t *testing.T, parent int) (pids []int) {
	t.Helper()
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range all {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it is over
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}
