package config

import (
	"errors"

	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// A Source is where a configuration comes from: a file, then the environment, then flags; later
// ones win. The zero source has the defaults alone.
type Source struct {
	Name string                                       // of the file; empty: there is none
	Data []byte                                       // the text of the file
	Env  func(name string) (value string, ok bool)    // as os.LookupEnv; nil: no variable is set
	Flag func(name string) (value string, given bool) // nil: no flag is given
}

// Read reads a configuration, lets change alter it, which may be nil, and checks it. Its
// error joins every fault. The config is nil if the file is none that can be read.
func Read(s Source, overrides []Override, change func(*Config)) (*Config, error) {
	c := Default(s.Env)
	var faults error
	if s.Name != "" {
		if c.file, faults = strictyaml.Decode(s.Name, s.Data, c); c.file.Unreadable() {
			return nil, faults
		}
	}
	c.override(s, overrides)
	if change != nil {
		change(c)
	}
	return c, errors.Join(faults, errors.Join(c.faults()...))
}
