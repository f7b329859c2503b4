package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	jobexec "github.com/cronce/cronce/jobs/exec"
	"github.com/cronce/cronce/scheduler"
)

const (
	leastExecLease   = 3 * time.Second // a shorter lease leaves too little time to end processes
	defaultExecLease = 5 * time.Second // or the interval, if that is longer
)

// execKind makes a job that runs a command.
func execKind(c *config.Config, at string, j *config.Job, p resources) (scheduler.Job, error) {
	job := scheduler.Job{Func: idle}
	if j.Exec == nil {
		return job, c.Fault(at+".exec", "is missing, must have a command, as in exec: {command: [pg_dump, shop]}")
	}
	if j.Lease != nil && *j.Lease != 0 && time.Duration(*j.Lease) < leastExecLease {
		return job, c.Fault(at+".lease", "is %v, must be %v or more for a job of kind exec, whose processes end before it does", time.Duration(*j.Lease), leastExecLease)
	}
	if oftener(j, c, defaultExecLease) {
		job.Lease = defaultExecLease
	}
	command, err := execCommand(c, at+".exec", j.Exec, p)
	if err != nil {
		return job, err
	}
	f, err := p.runner.Func(command)
	if err != nil {
		return job, execFaults(c, at+".exec", j.Exec, err)
	}
	job.Func = f
	if _, err := command.Find(); err != nil && !p.dry {
		return job, c.Fault(at+".exec", "cannot run here: %v", err)
	}
	return job, nil
}

// oftener reports whether a job has ticks that are closer together than d. It returns false for an
// invalid spec, which the scheduler reports.
func oftener(j *config.Job, c *config.Config, d time.Duration) bool {
	zone, _ := config.ParseZone(c.Zone)
	s, err := parse(&scheduler.Job{Name: j.Name, Spec: j.Spec}, zone)
	if err != nil {
		return false
	}
	for at, n := s.Next(time.Now()), 0; n < 60 && !at.IsZero(); n++ {
		next := s.Next(at)
		if !next.IsZero() && next.Sub(at) < d {
			return true
		}
		at = next
	}
	return false
}

// execCommand makes the command of a job from its settings.
func execCommand(c *config.Config, at string, e *config.Exec, p resources) (jobexec.Command, error) {
	command := jobexec.Command{Args: e.Command, Dir: e.Dir, Stdin: e.Stdin, User: e.User, Group: e.Group,
		SkipCodes: e.Skip, PermanentCodes: e.Permanent, RetryCodes: e.Retry, Log: e.Log,
		Grace: time.Duration(c.Scheduler.CancelGrace) * 9 / 10}
	switch {
	case len(e.Command) > 0 && e.Shell != "":
		return command, c.Fault(at+".shell", "and command are both set, give one of them")
	case e.Shell != "":
		command.Args = []string{"/bin/sh", "-c", e.Shell}
	case len(e.Command) == 0:
		return command, c.Fault(at+".command", "is empty, must be a program and its arguments, as in [pg_dump, shop]; a line for a shell is for the key shell")
	}
	if e.Umask != "" {
		mask, err := strconv.ParseUint(e.Umask, 8, 9)
		if err != nil {
			return command, c.Fault(at+".umask", "is %s, must be three octal digits, such as 027", strictyaml.Quote(e.Umask))
		}
		m := int(mask)
		command.Umask = &m
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		if strings.Contains(name, "=") {
			return command, c.Fault(at+".env", "has the name %s, must be names without =", strictyaml.Quote(name))
		}
		value, secrets, err := c.Expand(at+".env."+name, e.Env[name], p.dry)
		if err != nil {
			return command, err
		}
		command.Env, command.Secrets = append(command.Env, name+"="+value), append(command.Secrets, secrets...)
	}
	if p.dry {
		return command, nil // the remaining settings may be secret
	}
	from, secrets, err := c.ExecEnv(at, e)
	command.Env, command.Secrets = append(command.Env, from...), append(command.Secrets, secrets...)
	return command, err
}

// execFaults adds the place in the file to the faults of a command, and names the keys of the file.
func execFaults(c *config.Config, at string, e *config.Exec, err error) error {
	keys := map[string]string{"args": "command", "skip_codes": "skip", "permanent_codes": "permanent", "retry_codes": "retry", "user and group": "user"}
	var errs []error
	for _, fault := range config.Split(err) {
		if f, ok := errors.AsType[*jobexec.FieldError](fault); ok {
			field, index, indexed := strings.Cut(f.Field, "[")
			if key, ok := keys[field]; ok {
				field = key
			}
			if name, err := strconv.Unquote(f.Value); indexed && field == "env" && err == nil {
				field = placeOf(e, name)
			} else if indexed {
				field = fmt.Sprintf("%s[%s", field, index)
			}
			fault = c.Fault(at+"."+field, "is %s, must be %s", f.Value, strings.ReplaceAll(f.Allowed, "_codes, too", ", too"))
		}
		errs = append(errs, fault)
	}
	return errors.Join(errs...)
}

// placeOf returns the key of the settings that sets a variable.
func placeOf(e *config.Exec, name string) string {
	if _, ok := e.Env[name]; ok && name != "" {
		return "env." + name
	} else if ok {
		return "env"
	}
	if i := slices.Index(e.EnvFrom, name); i >= 0 {
		return fmt.Sprintf("env_from[%d]", i)
	}
	return "env_file"
}

// missingPrograms returns a remark for each job whose program is not on this machine. The machines
// of the nodes may have it.
func missingPrograms(c *config.Config) (remarks []string) {
	jobs := c.Jobs
	for i := range jobs {
		if jobs[i].Exec == nil || jobs[i].Off() {
			continue
		}
		command, err := execCommand(c, fmt.Sprintf("jobs[%d].exec", i), jobs[i].Exec, resources{dry: true})
		if err != nil {
			continue // already reported as a fault
		}
		if _, err := command.Find(); err != nil {
			remarks = append(remarks, fmt.Sprintf("%s: %v: a node without it does not start", jobs[i].Name, err))
		}
	}
	return remarks
}
