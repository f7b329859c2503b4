package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

func main() {
	only := flag.String("only", "", "plant only the mutants whose names match this pattern")
	root := flag.String("root", ".", "the root of the project")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	left, err := run(ctx, os.Stdout, *root, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if left > 0 {
		os.Exit(1)
	}
}

// A fate is the result of a planted mistake.
type fate string

const (
	found    fate = "found"
	survived fate = "survived"
	faulty   fate = "faulty" // the patch does not apply, or the result does not build
)

// run plants the mutants and returns how many have a different fate than required.
func run(ctx context.Context, w io.Writer, root, only string) (left int, err error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return 0, fmt.Errorf("mutants: -only: %w", err)
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return 0, fmt.Errorf("mutants: -root: %w", err)
	}
	all, err := readMutants(filepath.Join(root, "test/mutants/list"))
	if err != nil {
		return 0, err
	}
	planted := 0
	for i := range all {
		m := &all[i]
		if !pattern.MatchString(m.name) {
			continue
		}
		began := time.Now()
		f, remark := m.plant(ctx, root)
		if ctx.Err() != nil {
			return left, context.Cause(ctx)
		}
		planted++
		want := found
		if m.equivalent != "" {
			want = survived
		}
		sign := " "
		if f != want {
			left++
			sign = "!"
		}
		fmt.Fprintf(w, "%s %-8s %-32s %5.1fs  %s%s\n", sign, f, m.name, time.Since(began).Seconds(), m.title, remark)
	}
	fmt.Fprintf(w, "%d planted, %d not as they must be\n", planted, left)
	return left, nil
}

// limit is the time limit for the tests of one mutant: a mistake that makes them hang counts as
// found.
const limit = 5 * time.Minute

// plant runs the tests with the mistake in the code.
func (m *mutant) plant(ctx context.Context, root string) (f fate, remark string) {
	folder, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return faulty, ": " + err.Error()
	}
	defer os.RemoveAll(folder)
	changed, err := m.apply(root, folder)
	if err != nil {
		return faulty, ": " + err.Error()
	}
	overlay := filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": changed})
	if err = errors.Join(err, os.WriteFile(overlay, text, 0o644)); err != nil {
		return faulty, ": " + err.Error()
	}
	args := []string{"test", "-overlay", overlay, "-count=1", "-failfast", "-timeout", limit.String()}
	if m.run != "" {
		args = append(args, "-run", m.run)
	}
	packages := byModule(root, m.packages)
	for _, module := range slices.Sorted(maps.Keys(packages)) {
		test := exec.CommandContext(ctx, "go", slices.Concat(args, packages[module])...)
		test.Dir = module
		out, err := test.CombinedOutput()
		switch {
		case err == nil:
		case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
			return faulty, ": does not build\n" + string(out)
		default:
			return found, ""
		}
	}
	return survived, ""
}

// byModule returns the packages by the folder of their module, which is the nearest with a go.mod
// above them. Their paths are relative to it.
func byModule(root string, packages []string) map[string][]string {
	all := map[string][]string{}
	for _, p := range packages {
		module := filepath.Clean(p)
		for module != "." {
			if _, err := os.Stat(filepath.Join(root, module, "go.mod")); err == nil {
				break
			}
			module = filepath.Dir(module)
		}
		if below, err := filepath.Rel(module, p); err == nil {
			p = "./" + below
		}
		dir := filepath.Join(root, module)
		all[dir] = append(all[dir], p)
	}
	return all
}
