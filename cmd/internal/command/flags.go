package command

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// The values of -o.
const (
	outputText = "text"
	OutputJSON = "json"
)

// OutputFlag adds -o, which refuses unknown values.
func OutputFlag(cmd *cobra.Command, output *string) {
	*output = outputText
	cmd.Flags().VarP((*outputValue)(output), "output", "o", "text, or json for machines")
}

type outputValue string

func (v *outputValue) String() string { return string(*v) }
func (v *outputValue) Type() string   { return "format" }

func (v *outputValue) Set(s string) error {
	if s != outputText && s != OutputJSON {
		return fmt.Errorf("is %q, must be text or json", s)
	}
	*v = outputValue(s)
	return nil
}

// instantLayouts are the accepted forms of a local time, besides RFC 3339.
var instantLayouts = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"}

// ParseTime parses RFC 3339, or a local time in the zone.
func ParseTime(s string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.In(zone), nil
	}
	for _, layout := range instantLayouts {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("is %s, must be RFC 3339 (2026-03-29T01:00:00Z) or a local time (2026-03-29 01:00)", strictyaml.Quote(s))
}

// Caller returns the given name, or else the name of this machine's user.
func Caller(name string) string {
	if name == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
		host, _ := os.Hostname()
		name = cmp.Or(name, "unknown") + "@" + host
	}
	return name
}

// TickOf returns the id of the run whose shard an id names, job@tick#shard, and whether it names one; id itself if not.
func TickOf(id string) (run string, shard bool) {
	run, index, found := strings.Cut(id, "#")
	if _, err := strconv.ParseUint(index, 10, 16); !found || err != nil {
		return id, false
	}
	return run, true
}

// ParseRun parses the id of a run, job@tick, with or without the namespace before the job, or of a shard of it. Named is
// false if the text is neither: job is the text then.
func ParseRun(text, namespace string) (job string, tick time.Time, named bool) {
	id, _ := TickOf(text)
	before, after, found := strings.Cut(id, "@")
	tick, err := time.Parse(time.RFC3339, after)
	if !found || err != nil {
		return text, time.Time{}, false
	}
	return strings.TrimPrefix(before, namespace+"/"), tick, true
}
