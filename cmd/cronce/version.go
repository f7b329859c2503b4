package main

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// linked is the version of a build whose module has no version: -ldflags "-X main.linked=v1.2.3".
var linked string

func settingsOf(info *debug.BuildInfo) map[string]string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return settings
}

// version returns the line that --version prints: version, commit and time of the build, and Go
// version.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	parts := []string{cmp.Or(linked, info.Main.Version, "(devel)")}
	settings := settingsOf(info)
	if commit := settings["vcs.revision"]; commit != "" {
		if settings["vcs.modified"] == "true" {
			commit += " with changes"
		}
		parts = append(parts, "commit "+commit, settings["vcs.time"])
	}
	if info.GoVersion != "" {
		parts = append(parts, info.GoVersion, settings["GOOS"]+"/"+settings["GOARCH"])
	}
	return strings.Join(parts, ", ")
}
