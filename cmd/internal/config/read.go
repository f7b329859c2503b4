package config

import (
	"errors"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// A Source is the input of a configuration: a file with the files that it includes, the
// environment, and flags. Later inputs override earlier ones. The zero Source has only the
// defaults.
type Source struct {
	Name string                                       // name of the file; empty: no file
	Data []byte                                       // the text of the file
	Env  func(name string) (value string, ok bool)    // as os.LookupEnv; nil: no variable is set
	Flag func(name string) (value string, given bool) // nil: no flag is given

	Former *Config // the configuration read before: unchanged included files are not parsed again; nil: none
}

// Read reads a configuration, calls change (which may be nil) to alter it, and checks it. Its error
// joins every fault. The config is nil if the file cannot be parsed.
func Read(s Source, overrides []Override, change func(*Config)) (*Config, error) {
	c := Default(s.Env)
	readable, err := ReadInto(c, c, s, overrides, change)
	if !readable {
		return nil, err
	}
	return c, err
}

// ReadInto is [Read] for a program whose file has more sections: into points to a struct that embeds
// the Config at c, which was made by [Default]. The program checks its own sections. The result is
// false if the file cannot be parsed.
func ReadInto(into any, c *Config, s Source, overrides []Override, change func(*Config)) (readable bool, err error) {
	var faults error
	if s.Name != "" {
		if c.file, faults = strictyaml.Decode(s.Name, s.Data, into); c.file.Unreadable() {
			return false, faults
		}
		unfit := c.include(s.Name, s.Former)
		if faults = errors.Join(faults, unfit); c.Jobs == nil && unfit != nil {
			return false, faults
		}
		c.applyDefaults()
	}
	c.override(s, overrides)
	if change != nil {
		change(c)
	}
	return true, errors.Join(faults, errors.Join(c.faults()...), errors.Join(c.jobFaults()...))
}
