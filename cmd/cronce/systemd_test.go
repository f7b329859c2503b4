package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// unit returns the settings of a unit of systemd by their names.
func unit(t *testing.T, path string) map[string]string {
	t.Helper()
	settings := map[string]string{}
	for line := range strings.Lines(repositoryFile(t, path)) {
		name, value, is := strings.Cut(strings.TrimSpace(line), "=")
		if !is || strings.HasPrefix(name, "#") {
			continue
		}
		if _, twice := settings[name]; twice {
			t.Errorf("%s: %s twice", path, name)
		}
		settings[name] = value
	}
	return settings
}

// The unit starts a node as a user of its own, lets it drain, and does not restart it with an
// invalid configuration.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	got := unit(t, "deploy/systemd/cronce.service")
	for name, want := range map[string]string{
		"Type": "exec", "User": "cronce", "StateDirectory": "cronce", "Environment": "CRONCE_CONFIG=/etc/cronce/config.yaml",
		"KillMode": "mixed", "OOMPolicy": "continue", "Restart": "on-failure", "NoNewPrivileges": "yes",
	} {
		if got[name] != want {
			t.Errorf("%s=%s, want %s", name, got[name], want)
		}
	}
	program, args, _ := strings.Cut(got["ExecStart"], " ")
	if cmd, _, err := rootCommand().Find(strings.Fields(args)); err != nil || cmd.Name() != "node" || filepath.Base(program) != "cronce" {
		t.Errorf("ExecStart=%s: %v", got["ExecStart"], err)
	}
	if r := cronce(t, "node", "--check", "--config", file(t, "c.yaml", "jobs: 1\n")); got["RestartPreventExitStatus"] != "2" || r.code != exit.WrongUsage || exit.WrongUsage != 2 {
		t.Errorf("RestartPreventExitStatus=%s, and a wrong configuration ends with %d", got["RestartPreventExitStatus"], r.code)
	}
	c, err := nodeConfig(t, "--config", exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	stop, err := time.ParseDuration(got["TimeoutStopSec"])
	if err != nil {
		t.Fatal(err)
	}
	holdsDrain(t, c, stop)
	// Commands of jobs write where their configuration says, and start the programs that they need.
	for name := range got {
		switch name {
		case "PrivateTmp", "PrivateDevices", "ProtectHome", "ProcSubset", "PrivateUsers", "SystemCallFilter", "MemoryDenyWriteExecute", "ReadOnlyPaths":
			t.Errorf("%s can break the command of a job", name)
		}
	}
}

// The page for a few machines explains each setting of the unit that it names, with its value, and
// names those that an operator changes.
func TestSystemdPage(t *testing.T) {
	t.Parallel()
	got, page := unit(t, "deploy/systemd/cronce.service"), repositoryFile(t, "docs/machines.md")
	found := 0
	for _, m := range regexp.MustCompile("`([A-Z]\\w+)=([^`]+)`").FindAllStringSubmatch(page, -1) {
		found++
		if got[m[1]] != m[2] {
			t.Errorf("the page says %s, the unit %s=%s", m[0], m[1], got[m[1]])
		}
	}
	if found < 5 {
		t.Errorf("the page names %d settings", found)
	}
}

// systemd accepts each setting of the unit.
func TestSystemdVerify(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed (Debian: apt-get install systemd):", err)
	}
	// The program must exist on this machine.
	text := strings.Replace(repositoryFile(t, "deploy/systemd/cronce.service"), "/usr/local/bin/cronce", analyze, 1)
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", file(t, "cronce.service", text)).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "cronce.service:") {
		t.Skipf("systemd-analyze cannot run here, and has said nothing about the unit: %v\n%s", err, out)
	}
	if strings.Contains(string(out), "cronce.service:") {
		t.Errorf("%v\n%s", err, out)
	}
}
