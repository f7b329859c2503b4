package exec

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command that got SIGTERM because its lease was about to end gets SIGKILL at its original time,
// even if the lease is renewed after all. The times of a command that has not got SIGTERM move with
// its lease.
func TestRenewedTooLate(t *testing.T) {
	c := exec.Command("sh", "-c", "trap '' TERM; echo up; exec sleep 1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Signal(os.Kill)
		_ = c.Wait()
	}()
	if _, err := out.Read(make([]byte, 3)); err != nil { // it ignores SIGTERM from now on
		t.Fatal(err)
	}
	const term, kill, later = 1000, 2000, 9000
	run := &wardenRun{request: request{ID: 1, Term: term, Kill: kill}, pid: c.Process.Pid}
	w := &warden{runs: map[uint64]*wardenRun{1: run}, owners: map[int]*wardenRun{}, replies: newReplies(nil)}
	renew := func(term, kill int64) {
		w.take(received{request: request{Op: opExtend, ID: 1, Term: term, Kill: kill}}, true)
	}
	w.act(term - 1)
	if renew(term+1, kill+1); run.expired || run.killAt() != kill+1 || w.next(term) != term+1 {
		t.Errorf("a renewal in time: SIGKILL at %d, next at %d", run.killAt(), w.next(term))
	}
	w.act(term + 1)
	if renew(later, later); !run.expired || run.killAt() != kill+1 || w.next(term+1) != kill+1 {
		t.Fatalf("a late renewal: SIGKILL at %d, next at %d, want %d", run.killAt(), w.next(term+1), kill+1)
	}
	if err := syscall.Kill(run.pid, 0); err != nil {
		t.Errorf("it is gone already: %v", err)
	}
	w.act(kill + 1)
	if _ = c.Wait(); !c.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		t.Errorf("it ended with %v", c.ProcessState)
	}
}

// A command that was requested to end has its grace, but at most until the end of its lease, which
// may be renewed.
func TestKillAt(t *testing.T) {
	for _, c := range []struct{ lease, stop, want int64 }{{0, 0, 0}, {5, 0, 5}, {0, 7, 7}, {5, 7, 5}, {9, 7, 7}} {
		run := &wardenRun{request: request{Kill: c.lease}, stop: c.stop}
		if got := run.killAt(); got != c.want {
			t.Errorf("lease %d, grace %d: SIGKILL at %d, want %d", c.lease, c.stop, got, c.want)
		}
	}
}

// A command that was requested to end keeps its grace when the time passes at which its lease would have ended it, and does not
// count as ended by its lease.
func TestStoppedBeforeItsLeaseEnds(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	run := &wardenRun{request: request{ID: 1, Term: 1000, Kill: 9000}, pid: gone.Process.Pid}
	w := &warden{runs: map[uint64]*wardenRun{1: run}, owners: map[int]*wardenRun{}, replies: newReplies(nil)}
	for _, kill := range []int64{5000, 7000} { // a second request does not prolong it
		w.take(received{request: request{Op: opStop, ID: 1, Kill: kill}}, true)
	}
	if w.act(1500); run.expired || run.over != 0 || w.next(1500) != 5000 {
		t.Errorf("after the time of SIGTERM: expired %v, next at %d, want SIGKILL at 5000", run.expired, w.next(1500))
	}
	if w.act(5000); run.expired || run.over != 5000 {
		t.Errorf("after its grace: expired %v, killed at %d", run.expired, run.over)
	}
}

// The warden searches for the processes of a killed run again, also if no process ends: soon at first, later once a second.
func TestNextSearch(t *testing.T) {
	for ago, want := range map[time.Duration]time.Duration{0: sweepEvery, 400 * time.Millisecond: 100 * time.Millisecond, time.Hour: time.Second} {
		now := bootTime() + int64(24*time.Hour)
		w := &warden{runs: map[uint64]*wardenRun{1: {over: now - int64(ago)}}}
		if got := time.Duration(w.next(now) - now); got != want {
			t.Errorf("killed %v ago: the next search is after %v, want %v", ago, got, want)
		}
	}
}

// A run whose main process has ended is over only when none of its processes is left, in any
// session.
func TestOverMeansEmpty(t *testing.T) {
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	run := &wardenRun{request: request{ID: 1}, pid: gone.Process.Pid, reply: &reply{ID: 1}}
	w := &warden{runs: map[uint64]*wardenRun{1: run}, owners: map[int]*wardenRun{c.Process.Pid: run}, replies: newReplies(nil)}
	if w.act(bootTime()); len(w.runs) != 1 {
		t.Error("the run is over although one of its processes was alive")
	}
	_ = c.Wait()
	if w.act(bootTime()); len(w.runs) != 0 || c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the run is not over, its process ended with %v", c.ProcessState)
	}
}

// A lease that ends while the warden searches for the processes of another run ends its command
// before the next search.
func TestNoCommandWaitsForASearch(t *testing.T) {
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	gone := exec.Command("true")
	if err := errors.Join(gone.Run(), c.Start()); err != nil {
		t.Fatal(err)
	}
	now := bootTime()
	due := &wardenRun{request: request{ID: 2, Kill: now}, pid: c.Process.Pid}
	w := &warden{runs: map[uint64]*wardenRun{
		1: {request: request{ID: 1}, pid: gone.Process.Pid, reply: &reply{ID: 1}},
		2: due,
	}, owners: map[int]*wardenRun{}, replies: newReplies(nil)}
	w.act(now - 1) // the clock of the machine is past the end of the lease after the search
	if due.over == 0 {
		t.Error("the command was not killed after the search")
		_ = c.Process.Kill()
	}
	_ = c.Wait()
}

// A command that ends by itself while the warden searches for the processes of another run, or is stopped, has not
// ended because of its lease, although the lease is about to end after that.
func TestEndedDuringASearch(t *testing.T) {
	for _, name := range []string{"term", "kill", "term, not reported yet", "kill, not reported yet"} {
		t.Run(name, func(t *testing.T) {
			gone, done := exec.Command("true"), exec.Command("true")
			done.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := gone.Run(); err != nil {
				t.Fatal(err)
			}
			if err := done.Run(); err != nil {
				t.Fatal(err)
			}
			now := bootTime()
			run := &wardenRun{request: request{ID: 2, Kill: now}, pid: done.Process.Pid}
			early := !strings.HasSuffix(name, "yet")
			if strings.HasPrefix(name, "term") {
				run.Term, run.Kill = now, now+1e12
			}
			w := &warden{exits: make(chan exit, 1), runs: map[uint64]*wardenRun{
				1: {request: request{ID: 1}, pid: gone.Process.Pid, reply: &reply{ID: 1}},
				2: run,
			}, owners: map[int]*wardenRun{}, replies: newReplies(nil)}
			if early {
				w.exits <- exit{pid: done.Process.Pid} // the reaper has it, from before the end of the lease
			}
			w.act(now - 1)
			if !early {
				w.exits <- exit{pid: done.Process.Pid}
			}
			w.drain()
			if run.reply == nil || run.reply.Lease {
				t.Errorf("its reply is %+v, want one of a command that ended by itself", run.reply)
			}
		})
	}
}

// A renewal waits for no start: the warden moves the times of a command before it starts the next, however many wait. A
// command that waits is renewed, or not started at all, like one that runs.
func TestNoRenewalWaitsForAStart(t *testing.T) {
	later := bootTime() + 1e12
	run := &wardenRun{request: request{ID: 1, Term: 1000, Kill: 2000}}
	refused := map[uint64][]*os.File{} // the outputs of the commands that are not started: one that stays open delays its run
	for _, id := range []uint64{2, 4} {
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		refused[id] = []*os.File{null}
	}
	w := &warden{requestQueue: requestQueue{requests: make(chan received, 9)}, runs: map[uint64]*wardenRun{1: run}, replies: newReplies(nil)}
	for _, q := range []request{
		{Op: opStart, ID: 2, Term: 1000, Kill: later},
		{Op: opStart, ID: 3, Term: 1000, Kill: 2000},
		{Op: opStart, ID: 4, Term: 1000, Kill: 2000},
		{Op: opExtend, ID: 3, Term: later, Kill: later},
		{Op: opStop, ID: 4, Kill: later},
		{Op: opExtend, ID: 1, Term: later, Kill: later},
	} {
		r := received{request: q}
		if q.Op == opStart {
			r.files = refused[q.ID]
		}
		w.requests <- r
	}
	if w.drain(); run.Kill != later || len(w.runs) != 1 {
		t.Errorf("SIGKILL at %d before the first start, want %d", run.Kill, later)
	}
	if w.startNext(); len(w.starts) != 1 || w.starts[0].Kill != later {
		t.Errorf("waiting are %+v, want the third alone, with its renewed times", w.starts)
	}
	if got := w.replies.take(); len(got) != 2 || got[0].ID != 4 || got[0].Err != errEnded || got[1].ID != 2 || !got[1].Lease {
		t.Errorf("the replies are %v, want the fourth stopped, the second out of its lease", got)
	}
	for id, files := range refused {
		if err := files[0].Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the output of %d is open", id)
		}
	}
}
