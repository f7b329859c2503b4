package serverprocess

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Require is the environment variable that, if set to 1, makes a missing program a failure instead
// of a skipped test.
const Require = "CRONCE_REQUIRE_SERVERS"

// Find returns the path of a program in PATH or, otherwise, in the last of the folders that match one
// of the patterns. If it is not installed, the test ends: see Missing.
func Find(t testing.TB, program, packages string, patterns ...string) string {
	t.Helper()
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	for _, pattern := range patterns {
		if found, _ := filepath.Glob(filepath.Join(pattern, program)); len(found) > 0 {
			return slices.Max(found)
		}
	}
	Missing(t, program, packages)
	return ""
}

// Missing skips a test that needs the given Debian packages, or fails it if CRONCE_REQUIRE_SERVERS
// is 1.
func Missing(t testing.TB, what, packages string) {
	t.Helper()
	if os.Getenv(Require) == "1" {
		t.Fatalf("%s is not installed and %s=1 requires it (Debian: apt-get install %s)", what, Require, packages)
	}
	t.Skipf("%s is not installed (Debian: apt-get install %s)", what, packages)
}
