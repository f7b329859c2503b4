package config

import (
	"reflect"
	"slices"
)

// notFixed are the sections that a node can apply while it runs, or does not read.
var notFixed = []string{"include", "defaults", "jobs", "ops"}

// KeepFixed gives the configuration the settings of a running one that need a restart, and the
// functions that it calls. It returns the names of the settings that differ.
func (c *Config) KeepFixed(running *Config) (differ []string) {
	now, was := reflect.ValueOf(c).Elem(), reflect.ValueOf(running).Elem()
	for i := range now.NumField() {
		key := now.Type().Field(i).Tag.Get("yaml")
		if key == "" || slices.Contains(notFixed, key) {
			continue
		}
		if !reflect.DeepEqual(now.Field(i).Interface(), was.Field(i).Interface()) {
			differ = append(differ, key)
		}
		now.Field(i).Set(was.Field(i))
	}
	c.address = running.address
	c.endpoint, c.embedded, c.stale, c.plain = running.endpoint, running.embedded, running.stale, running.plain
	return differ
}
