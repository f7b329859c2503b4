package serverprocess

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Require is the environment variable that, if set to 1, makes a missing program a failure instead
// of a skipped test.
const Require = "CRONCE_REQUIRE_SERVERS"

// Find returns the path of a program, as Lookup does. If it is not installed, the test ends: see
// Missing.
func Find(t testing.TB, program, packages string, patterns ...string) string {
	t.Helper()
	path, err := Lookup(program, packages, patterns...)
	if err != nil {
		Missing(t, program, packages)
	}
	return path
}

// Lookup returns the path of a program in PATH or, otherwise, in the last of the folders that match
// one of the patterns. If it is not installed, the error names the Debian packages.
func Lookup(program, packages string, patterns ...string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		return path, nil
	}
	for _, pattern := range patterns {
		if found, _ := filepath.Glob(filepath.Join(pattern, program)); len(found) > 0 {
			return slices.Max(found), nil
		}
	}
	return "", fmt.Errorf("%w (Debian: apt-get install %s)", err, packages)
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
