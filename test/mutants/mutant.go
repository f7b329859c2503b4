package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is one mistake to be planted.
type mutant struct {
	name       string // the name of its file
	title      string
	packages   []string
	run        string // a pattern of tests; empty: all
	equivalent string // why no test can notice it
	files      []string
	patch      []byte
}

// readMutants reads every patch of a folder, in the order of their names.
func readMutants(folder string) ([]mutant, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.patch"))
	if err != nil {
		return nil, fmt.Errorf("mutants: list %s: %w", folder, err)
	}
	slices.Sort(names)
	var all []mutant
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("mutants: read a patch: %w", err)
		}
		m, err := parseMutant(strings.TrimSuffix(filepath.Base(name), ".patch"), text)
		if err != nil {
			return nil, fmt.Errorf("mutants: %s: %w", name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

func parseMutant(name string, text []byte) (mutant, error) {
	m := mutant{name: name, patch: text}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for head := true; lines.Scan(); {
		line := lines.Text()
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "diff "):
			head = false
		case strings.HasPrefix(line, "+++ b/"):
			m.files = append(m.files, strings.TrimPrefix(line, "+++ b/"))
		case !head:
		case m.title == "":
			m.title = line
		case key == "tests":
			m.packages = strings.Fields(value)
		case key == "run":
			m.run = value
		case key == "equivalent":
			m.equivalent = value
		}
	}
	switch {
	case lines.Err() != nil:
		return m, lines.Err()
	case m.title == "" || len(m.packages) == 0:
		return m, errors.New(`a title and a line "tests: ./package" are needed before the patch`)
	case len(m.files) == 0:
		return m, errors.New("the patch changes no file")
	}
	return m, nil
}

// apply writes the changed files below folder. It returns their paths, by the path of the file in
// the tree that each of them replaces.
func (m *mutant) apply(root, folder string) (map[string]string, error) {
	changed := map[string]string{}
	for _, file := range m.files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, fmt.Errorf("read the file that the patch changes: %w", err)
		}
		to := filepath.Join(folder, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644)); err != nil {
			return nil, fmt.Errorf("copy %s: %w", file, err)
		}
		changed[filepath.Join(root, file)] = to
	}
	// One line around the mistake must be unchanged: a change near it needs no new patch.
	git := exec.Command("git", "apply", "--whitespace=nowarn", "-C1", "-")
	git.Dir, git.Stdin = folder, bytes.NewReader(m.patch)
	git.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(folder))
	if out, err := git.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("apply the patch: %w: %s", err, bytes.TrimSpace(out))
	}
	return changed, nil
}
