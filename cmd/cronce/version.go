package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// linked is the version of a build without the module's version: -ldflags "-X main.linked=v1.2.3".
var linked string

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this build",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				info = &debug.BuildInfo{}
			}
			return printVersion(cmd.OutOrStdout(), info)
		},
	}
}

func settingsOf(info *debug.BuildInfo) map[string]string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return settings
}

// printVersion prints one line: version, commit and time of the build, Go.
func printVersion(w io.Writer, info *debug.BuildInfo) error {
	parts := []string{"cronce " + cmp.Or(linked, info.Main.Version, "(devel)")}
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
	_, err := fmt.Fprintln(w, strings.Join(parts, ", "))
	return err
}
