package command

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// The values of -o.
const (
	outputText = "text"
	OutputJSON = "json"
)

// OutputFlag adds -o, which refuses what it does not know.
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

// instantLayouts are what a person may type, beside RFC 3339; in a zone.
var instantLayouts = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"}

// ParseTime reads RFC 3339, or a local time of the zone.
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

// Caller is the name that was given, or that of the user of this machine.
func Caller(who string) string {
	if who == "" {
		if u, err := user.Current(); err == nil {
			who = u.Username
		}
		host, _ := os.Hostname()
		who = cmp.Or(who, "unknown") + "@" + host
	}
	return who
}
