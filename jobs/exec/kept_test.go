package exec_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs/exec"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// The store has the end of the output of a command, masked, also if the command succeeds.
func TestOutputIsKept(t *testing.T) {
	for name, exit := range map[string]string{"ok": "0", "failed": "7"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sh("echo begin; echo the key is hunter22; printf 'no end \\033[1m'; exit " + exit)
			c.Secrets = []string{"hunter22"}
			got, logged := keptOutput(t, c)
			if got != "begin\nthe key is [masked]\nno end \uFFFD[1m\n" {
				t.Errorf("kept is %q", got)
			}
			if strings.Contains(logged, "msg=output") {
				t.Errorf("the output is in the log:\n%s", logged)
			}
		})
	}
}

// The log of a run has each line of the output, masked, if the command asks for it.
func TestOutputIsLogged(t *testing.T) {
	c := sh("echo begin; echo the key is hunter22")
	c.Secrets, c.Log = []string{"hunter22"}, true
	_, logged := keptOutput(t, c)
	for _, line := range []string{"msg=output ", "line=begin\n", `line="the key is [masked]"`} {
		if !strings.Contains(logged, line) {
			t.Errorf("%q is missing in\n%s", line, logged)
		}
	}
}

// keptOutput runs a command on a node, once, and returns the output as its store has it, and the log.
func keptOutput(t *testing.T, c exec.Command) (kept, logged string) {
	t.Helper()
	f, err := runner(t).Func(c)
	if err != nil {
		t.Fatal(err)
	}
	store := memlock.New(memlock.Options{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log bytes.Buffer
	ended := make(chan scheduler.Event, 100)
	n, err := scheduler.New(scheduler.Config{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil)), Jobs: []scheduler.Job{{Name: "a", Spec: "@every 1s", Deadline: time.Hour, Func: f}},
		Observers: []scheduler.Observer{scheduler.ObserverFunc(func(e scheduler.Event) {
			if e.Kind == scheduler.EventRunFinished {
				ended <- e
				stop()
			}
		})}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(ctx); err != nil {
		t.Error(err)
	}
	e := <-ended
	o, err := series.FrontOf(store).Output(context.Background(), "a", e.Tick.UnixMilli())
	if err != nil || o.Fence != e.Fence {
		t.Errorf("the output is %+v, %v, want the fence %d", o, err, e.Fence)
	}
	return o.Text, log.String()
}
