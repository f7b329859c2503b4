package config

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// ParseZone returns a zone by name. It refuses the machine's local zone, because a configuration
// must mean the same on every machine.
func ParseZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("is %s, must be a name of the time zone database, such as UTC or Asia/Shanghai", strictyaml.Quote(name))
	}
	return zone, nil
}
