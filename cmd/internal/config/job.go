package config

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
	"github.com/cronce/cronce/scheduler/spec"
)

// Off reports whether the file disables the job.
func (j *Job) Off() bool { return j.Enabled != nil && !*j.Enabled }

// Quiet reports whether runs that end ok are logged only at level debug.
func (j *Job) Quiet() bool { return j.Log != nil && *j.Log == 1 }

// maxAbout bounds each text about a job, in bytes.
const maxAbout = 500

var labelPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`)

// About returns the texts about a job for a person, such as "owner: dba"; nil if it has none.
func (j *Job) About() (lines []string) {
	for _, text := range []struct{ key, value string }{{"description", j.Description}, {"owner", j.Owner}, {"runbook", j.Runbook}} {
		if text.value != "" {
			lines = append(lines, text.key+": "+text.value)
		}
	}
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(j.Labels)) {
		labels = append(labels, name+"="+j.Labels[name])
	}
	if len(labels) > 0 {
		lines = append(lines, "labels: "+strings.Join(labels, ", "))
	}
	return lines
}

// jobFaults writes the zones of jobs before their specs, and returns the faults of zones and of the
// texts about jobs.
func (c *Config) jobFaults() (errs []error) {
	for i := range c.Jobs {
		j := &c.Jobs[i]
		bad := func(key, format string, args ...any) {
			errs = append(errs, c.Fault("jobs["+strconv.Itoa(i)+"]."+key, format, args...))
		}
		j.setZone(bad)
		switch c.Address().Kind {
		case StorePostgres, StoreMySQL, StoreSQLite:
			if most := new(sqllock.Driver).MostShards(); most < j.Shards && j.Shards <= series.MaxShards {
				bad("shards", "is %d, must be at most %d on a database", j.Shards, most)
			}
		case StoreZooKeeper:
			const needs = "but ZooKeeper keeps no shards: use Redis, PostgreSQL, MySQL, MariaDB or SQLite"
			if j.Shards > 0 {
				bad("shards", "is %d, %s", j.Shards, needs)
			}
			if j.Broadcast {
				bad("broadcast", "is true, %s", needs)
			}
		}
		if n := j.Replicas; n != nil && *n > 0 && c.Address().Kind != StoreRedis {
			bad("replicas", "is %d, but only Redis can wait for replicas", *n)
		}
		if j.Limit != nil && *j.Limit == (Limit{}) {
			bad("limit", "is empty, must have name and of, such as {name: reports, of: 3}")
		}
		for key, text := range map[string]string{"description": j.Description, "owner": j.Owner, "runbook": j.Runbook} {
			if len(text) > maxAbout {
				bad(key, "is %d bytes long, must be up to %d", len(text), maxAbout)
			}
		}
		if u, err := url.Parse(j.Runbook); j.Runbook != "" && (err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http") {
			bad("runbook", "is %s, must be a URL such as https://wiki.example.com/backup, without credentials", strictyaml.Quote(j.Runbook))
		}
		for _, name := range slices.Sorted(maps.Keys(j.Labels)) {
			if !labelPattern.MatchString(name) || len(j.Labels[name]) > maxAbout {
				bad("labels", "has %s, must have names like %s and values of up to %d bytes", strictyaml.Quote(name), labelPattern, maxAbout)
			}
		}
	}
	return errs
}

func (j *Job) limits() spec.Limits {
	return spec.Limits{At: j.At, NotBefore: j.NotBefore, Until: j.Until, Every: j.Every, Exclude: j.Exclude}
}

// SpecOr returns the text of the job's spec with its limits. A job without a spec has the spec of its kind.
func (j *Job) SpecOr(kind string) (string, error) {
	text := j.Spec
	if j.At == "" {
		text = cmp.Or(text, kind)
	}
	return j.limits().Append(text)
}

// setZone writes the zone before the spec.
func (j *Job) setZone(bad func(key, format string, args ...any)) {
	if j.Zone == "" {
		return
	}
	if _, err := ParseZone(j.Zone); err != nil {
		bad("zone", "%v", err)
		return
	}
	limits := j.limits()
	switch prefix, _, _ := strings.Cut(strings.TrimSpace(j.Spec), " "); {
	case j.Spec == "" && j.At != "":
		j.Spec = "CRON_TZ=" + j.Zone
	case j.Spec == "" && (limits.NotBefore != "" || limits.Until != "" || len(limits.Exclude) > 0):
		bad("zone", "is %s, but the spec is the default of the kind: set spec too", strictyaml.Quote(j.Zone))
	case j.Spec == "" || prefix == "CRON_TZ="+j.Zone || prefix == "TZ="+j.Zone:
	case strings.HasPrefix(prefix, "CRON_TZ=") || strings.HasPrefix(prefix, "TZ="):
		bad("zone", "is %s, but the spec begins with %s: give one of them", strictyaml.Quote(j.Zone), strictyaml.Quote(prefix))
	default:
		j.Spec = "CRON_TZ=" + j.Zone + " " + j.Spec
	}
}
