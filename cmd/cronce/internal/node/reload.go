package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/scheduler"
)

const (
	pollEvery = 2 * time.Second
	quietTime = 250 * time.Millisecond // how long changed files must stay the same before they are read
)

// An again describes when a node reads its configuration again: when hangUp receives a signal, and
// when a file has changed.
type again struct {
	read   func(former *config.Config) (*config.Config, error)
	hangUp <-chan os.Signal // nil: SIGHUP drains the node
}

// rereads reports whether the configuration comes from files that can be read again.
func rereads(c *config.Config) bool {
	files := c.Files()
	return len(files) > 0 && !slices.ContainsFunc(files, boundedfile.Once)
}

// signals returns a context that ends with the signals that drain the node, and sets when the
// configuration is read again.
func (f *Flags) signals(cmd *cobra.Command, c *config.Config) (context.Context, context.CancelFunc) {
	if f.demo || !rereads(c) {
		return command.WithSignals(cmd.Context())
	}
	f.again = &again{read: func(former *config.Config) (*config.Config, error) {
		return f.read(cmd, former)
	}}
	if terminal.IsTerminal(cmd.InOrStdin()) { // which sends SIGHUP when it closes
		return command.WithSignals(cmd.Context())
	}
	ctx, stop, hangUp := command.WithoutHangUp(cmd.Context())
	f.again.hangUp = hangUp
	return ctx, stop
}

// A reloader applies changed jobs of the configuration to a node while it runs. Only one goroutine
// may call its methods.
type reloader struct {
	again
	node     *scheduler.Node
	store    scheduler.Store
	with     resources
	commands func() // starts the runner for the commands of jobs
	stale    prometheus.Gauge
	log      *slog.Logger

	running *config.Config         // the configuration whose jobs the node has
	jobs    map[string]*config.Job // its enabled jobs, by name
	last    *config.Config         // the configuration that was read last, perhaps with faults: its files are watched
}

// start runs the reloader until the returned function is called or ctx ends.
func (r *reloader) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// run reloads until ctx ends.
func (r *reloader) run(ctx context.Context) {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	r.jobs, _, _ = r.check(r.running)
	seen := readFileStates(r.last.Files())
	begin := make(chan struct{}, 1)
	begin <- struct{}{} // find changes since the start has read the files
	for {
		pause, first := time.Duration(0), false
		select {
		case <-begin:
			first = true
		case <-ctx.Done():
			return
		case <-r.hangUp:
		case <-poll.C:
			if readFileStates(r.last.Files()).same(seen) {
				continue
			}
			pause = quietTime
		}
		c, now, err := r.settled(ctx, pause)
		if ctx.Err() != nil {
			return
		}
		seen = now
		r.use(c, err, first)
	}
}

// settled reads the files after a pause, and again until none of them changes meanwhile: a file that is being
// written may be incomplete. It returns their state as well. It ends early with ctx.
func (r *reloader) settled(ctx context.Context, pause time.Duration) (*config.Config, fileStates, error) {
	for ; wait.Sleep(ctx, pause) == nil; pause = quietTime {
		seen := readFileStates(r.last.Files())
		c, err := r.read(r.last)
		if c != nil {
			r.last = c // it may include other files than before, whose state is not seen yet
		}
		if readFileStates(r.last.Files()).same(seen) {
			return c, seen, err
		}
	}
	return nil, nil, ctx.Err()
}

// use applies a configuration to the node, and logs the result. The first time it logs only if
// there are changes.
func (r *reloader) use(c *config.Config, err error, first bool) {
	n, restart, err := r.apply(c, err)
	if err != nil {
		var faults []string
		for _, fault := range config.Split(config.InFileOrder(err)) {
			faults = append(faults, fault.Error())
		}
		r.stale.Set(1)
		r.log.Error("configuration not reloaded", slog.String("err", strings.Join(faults, "; ")))
		return
	}
	r.stale.Set(0)
	if len(restart) > 0 {
		r.log.Warn("configuration needs a restart", slog.String("settings", strings.Join(restart, ", ")))
	}
	if first && n == (counts{}) {
		return
	}
	r.log.Info("configuration reloaded", slog.Int("added", n.added), slog.Int("changed", n.changed), slog.Int("removed", n.removed))
}

// A counts has the numbers of jobs that a reload has changed.
type counts struct{ added, changed, removed int }

// apply applies a configuration to the node, or changes nothing and returns all faults. Restart has
// the names of the settings that differ and take effect only at a restart.
func (r *reloader) apply(c *config.Config, err error) (n counts, restart []string, _ error) {
	if c == nil {
		return n, nil, err
	}
	restart = c.KeepFixed(r.running)
	next, fresh, faults := r.check(c)
	if err = errors.Join(err, faults); err != nil {
		return n, nil, err
	}
	all := c.Jobs
	var added, replaced []scheduler.Job
	for _, i := range fresh {
		if all[i].Off() {
			continue
		}
		job, err := newJob(c, at(i), &all[i], r.with)
		faults = errors.Join(faults, err)
		switch was, known := r.jobs[job.Name]; {
		case !known:
			added = append(added, job)
		default:
			replaced = append(replaced, job)
			if !reflect.DeepEqual(was, &all[i]) {
				n.changed++
			}
		}
	}
	if faults != nil {
		return n, nil, faults
	}
	var removed []string
	for name := range r.jobs {
		if next[name] == nil {
			removed = append(removed, name)
		}
	}
	if c.HasExec() {
		r.commands()
	}
	n.added, n.removed = len(added), len(removed)
	if err := r.change(removed, replaced, added); err != nil {
		return n, nil, err
	}
	r.running, r.jobs = c, next
	return n, restart, nil
}

// check returns the enabled jobs of a configuration by name, the indexes of those that are new or
// changed, and all faults that can be found without secrets. Unchanged jobs are not checked again.
func (r *reloader) check(c *config.Config) (enabled map[string]*config.Job, fresh []int, err error) {
	dry := r.with
	dry.dry = true
	settings, faults := schedulerConfig(c, dry)
	all := c.Jobs
	enabled = make(map[string]*config.Job, len(all))
	seen := make(map[string]bool, len(all))
	for i := range all {
		j, name := &all[i], settings.Jobs[i].Name
		if !j.Off() {
			enabled[name] = j
		}
		same := r.jobs[name] != nil && !j.Off() && reflect.DeepEqual(r.jobs[name], j)
		switch {
		case seen[name]:
			faults = errors.Join(faults, fmt.Errorf("%s.name: %s is taken by another job", at(i), strictyaml.Quote(name)))
		case !same || j.Exec != nil && j.Exec.EnvFile != "": // a file with variables may have changed
			fresh = append(fresh, i)
		}
		seen[name] = name != ""
	}
	return enabled, fresh, c.Locate(errors.Join(faults, r.checkFresh(settings, fresh)))
}

// checkFresh returns the faults that New finds in some of the jobs of settings, each with its path
// in settings.
func (r *reloader) checkFresh(settings scheduler.Config, fresh []int) error {
	all := settings.Jobs
	settings.Jobs = nil
	for _, i := range fresh {
		settings.Jobs = append(settings.Jobs, all[i])
	}
	settings.Store, settings.Logger = r.store, slog.New(slog.DiscardHandler)
	_, err := scheduler.New(settings)
	var errs []error
	for _, e := range config.Split(err) {
		var k int
		if _, none := fmt.Sscanf(e.Error(), "jobs[%d]", &k); none == nil {
			_, rest, _ := strings.Cut(e.Error(), "]")
			e = errors.New(at(fresh[k]) + rest)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// change changes the jobs of the node. The node accepts every job that New accepts, so an error
// means that the node drains.
func (r *reloader) change(removed []string, replaced, added []scheduler.Job) error {
	if err := r.node.Remove(removed...); err != nil {
		return err
	}
	return errors.Join(r.node.Replace(replaced...), r.node.Add(added...))
}

// fileStates are the states of files at one time, without their contents.
type fileStates []os.FileInfo

// readFileStates returns the state of files. A missing file is nil.
func readFileStates(names []string) (s fileStates) {
	for _, name := range names {
		info, err := os.Stat(name) // follows links, because Kubernetes swaps one
		if err != nil {
			info = nil
		}
		s = append(s, info)
	}
	return s
}

func (s fileStates) same(other fileStates) bool {
	return slices.EqualFunc(s, other, func(a, b os.FileInfo) bool {
		if a == nil || b == nil {
			return a == nil && b == nil
		}
		return a.Name() == b.Name() && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	})
}
