package config

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/scheduler"
)

// durationPattern matches the syntax of a duration, even if it exceeds the range of nanoseconds.
var durationPattern = regexp.MustCompile(`^[-+]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)

// A Duration is parsed from a text such as 30s or 1h30m.
type Duration time.Duration

// UnmarshalText parses a duration with its unit.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil && durationPattern.Match(text) {
		return fmt.Errorf("is %s, which is too large, must be up to %dh", strictyaml.Quote(string(text)), int64(math.MaxInt64/time.Hour))
	}
	if err != nil {
		return fmt.Errorf("is %s, must be a duration with its unit, such as 500ms, 30s or 1h30m", strictyaml.Quote(string(text)))
	}
	*d = Duration(v)
	return nil
}

// Policies, by the names that documentation and journal use.
type (
	overlap     scheduler.Overlap
	misfire     scheduler.Misfire
	takeover    scheduler.Takeover
	interrupted scheduler.Interrupted
	shardFail   scheduler.ShardFail
	runLog      uint8 // 1: quiet
)

// The texts of policies, in the order of their values.
var (
	overlaps      = []string{"skip", "queue", "allow", "replace"}
	misfires      = []string{"once", "skip", "all"}
	takeovers     = []string{"lost", "rerun"}
	interruptions = []string{"rerun", "lost"}
	shardFails    = []string{"any", "all"}
	runLogs       = []string{"normal", "quiet"}
)

func (p *overlap) UnmarshalText(text []byte) error {
	return choose(p, text, overlaps)
}

func (p *misfire) UnmarshalText(text []byte) error {
	return choose(p, text, misfires)
}

func (p *takeover) UnmarshalText(text []byte) error {
	return choose(p, text, takeovers)
}

func (p *interrupted) UnmarshalText(text []byte) error {
	return choose(p, text, interruptions)
}

func (p *shardFail) UnmarshalText(text []byte) error {
	return choose(p, text, shardFails)
}

func (p *runLog) UnmarshalText(text []byte) error {
	return choose(p, text, runLogs)
}

// choose sets a policy to the index of its name among names.
func choose[T ~uint8](policy *T, text []byte, names []string) error {
	for i, name := range names {
		if string(text) == name {
			*policy = T(i)
			return nil
		}
	}
	return fmt.Errorf("is %s, must be %s", strictyaml.Quote(string(text)), strings.Join(names, ", "))
}
