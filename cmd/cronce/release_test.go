package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func repositoryFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type release struct {
	Builds []struct {
		Main           string
		Env            []string
		Flags, Ldflags []string
		Goos, Goarch   []string
	}
	Archives []struct{ Files []string }
	Sboms    []struct {
		Cmd       string
		Args      []string
		Documents []string
	}
}

// A release has the binary with its version, the additional files that a user needs, and a bill of
// materials.
func TestRelease(t *testing.T) {
	t.Parallel()
	var r release
	manifest(t, ".goreleaser.yaml", &r)
	if len(r.Builds) != 1 || len(r.Archives) != 1 || len(r.Sboms) != 1 {
		t.Fatalf("%+v", r)
	}
	build, files := r.Builds[0], r.Archives[0].Files
	if main := repositoryFile(t, filepath.Join(build.Main, "main.go")); !strings.Contains(main, "package main\n") {
		t.Errorf("%s is no program", build.Main)
	}
	if !slices.Contains(build.Env, "CGO_ENABLED=0") || !slices.Contains(build.Flags, "-trimpath") || !strings.Contains(strings.Join(build.Ldflags, " "), "-X main.linked={{ .Tag }}") {
		t.Errorf("build: %+v", build)
	}
	if !slices.Equal(build.Goos, []string{"linux", "darwin", "windows"}) || !slices.Equal(build.Goarch, []string{"amd64", "arm64"}) {
		t.Errorf("systems: %v, %v", build.Goos, build.Goarch)
	}
	for _, name := range []string{"LICENSE", "README.md", "config.yaml"} {
		if !slices.Contains(files, name) {
			t.Errorf("the archives lack %s", name)
		}
		repositoryFile(t, name)
	}
	_, tool, _ := strings.Cut(repositoryFile(t, "Makefile"), "\nCYCLONEDX = ")
	tool, _, _ = strings.Cut(tool, "\n")
	if sbom := r.Sboms[0]; sbom.Cmd != "go" || !slices.Contains(sbom.Args, tool) || len(sbom.Documents) != 1 {
		t.Errorf("the bill of materials is made by %+v, want %s as in make sbom", sbom, tool)
	}
}

// Each system of a release has the packages and files that the program needs there.
func TestReleaseSystems(t *testing.T) {
	t.Parallel()
	var r release
	manifest(t, ".goreleaser.yaml", &r)
	for _, system := range r.Builds[0].Goos {
		for _, arch := range r.Builds[0].Goarch {
			goFor(t, system, arch, "list", "-deps", r.Builds[0].Main)
		}
	}
}

// The program compiles for Windows. Its own files are checked as the compiler checks them, and only the
// declarations of its dependencies: to compile these takes minutes. The tests compile the files for Unix themselves, and this test checks the files for
// systems other than Linux: no file is for macOS or for one architecture alone.
func TestReleaseCompiles(t *testing.T) {
	t.Parallel()
	var r release
	manifest(t, ".goreleaser.yaml", &r)
	arch := r.Builds[0].Goarch[0]
	list := json.NewDecoder(goFor(t, "windows", arch, "list", "-deps", "-json=Dir,ImportPath,GoFiles,ImportMap,Module", r.Builds[0].Main))
	files, own := token.NewFileSet(), 0
	for checked := map[string]*types.Package{"unsafe": types.Unsafe}; list.More(); {
		p := listed{checked: checked}
		if err := list.Decode(&p); err != nil {
			t.Fatal(err)
		}
		c := types.Config{Importer: p, Sizes: types.SizesFor("gc", arch), IgnoreFuncBodies: !p.Module.Main, Error: func(err error) { t.Error(err) }}
		if p.Module.Main {
			own++
		}
		if p.ImportPath != "unsafe" {
			checked[p.ImportPath], _ = c.Check(p.ImportPath, files, p.parse(t, files), nil)
		}
	}
	if own == 0 {
		t.Error("no package of this module was checked")
	}
}

// listed is a package as go list prints it, after the packages that it imports: they are checked by then.
type listed struct {
	Dir, ImportPath string
	GoFiles         []string
	ImportMap       map[string]string // packages that the standard library has copies of
	Module          struct{ Main bool }
	checked         map[string]*types.Package
}

// Import returns a package that this one imports.
func (p listed) Import(path string) (*types.Package, error) {
	found := p.checked[cmp.Or(p.ImportMap[path], path)]
	if found == nil {
		return nil, fmt.Errorf("package %s is not listed before %s", path, p.ImportPath)
	}
	return found, nil
}

func (p listed) parse(t *testing.T, files *token.FileSet) (parsed []*ast.File) {
	t.Helper()
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	return parsed
}

// goFor runs the command go for a system, in the root of the repository, and returns its output.
func goFor(t *testing.T, system, arch string, args ...string) *bytes.Buffer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	var out, fault bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &fault
	if err := cmd.Run(); err != nil {
		t.Errorf("%s/%s: %v\n%s", system, arch, err, &fault)
	}
	return &out
}

// The notes of a release are its section of the changelog, and a version without one has no release.
func TestReleaseNotes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("there is no awk")
	}
	notes := func(version string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "../../.ci/notes", version).CombinedOutput()
		return string(out), err
	}
	versions := regexp.MustCompile(`(?m)^## (\d\S*)`).FindAllStringSubmatch(repositoryFile(t, "CHANGELOG.md"), -1)
	if got, err := notes(versions[len(versions)-1][1]); err != nil || !strings.Contains(got, "First release.") || strings.Contains(got, "\n## ") {
		t.Errorf("%v: %.300s", err, got)
	}
	if got, err := notes("v99.0.0"); err == nil || !strings.Contains(got, "no section 99.0.0") {
		t.Errorf("%v: %s", err, got)
	}
}

// The sections of the changelog are those of Keep a Changelog, each once in a version: a merge can make two of one.
func TestChangelogSections(t *testing.T) {
	t.Parallel()
	version, seen := "", map[string]bool{}
	for line := range strings.Lines(repositoryFile(t, "CHANGELOG.md")) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			if version = line; !regexp.MustCompile(`^## (Unreleased|\d+\.\d+\.\d+)$`).MatchString(line) {
				t.Errorf("version %q", line)
			}
			clear(seen)
		case strings.HasPrefix(line, "### "):
			if !slices.Contains([]string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}, line[4:]) || seen[line] || version == "" {
				t.Errorf("%s: section %q", version, line)
			}
			seen[line] = true
		}
	}
	if version == "" {
		t.Error("the changelog has no version")
	}
}

// The workflows run existing targets and scripts, and use actions of one major version.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z]+):`).FindAllStringSubmatch(repositoryFile(t, "Makefile"), -1) {
		targets[m[1]] = true
	}
	paths, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, path := range paths {
		var workflow struct {
			Jobs map[string]struct {
				Uses  string
				Steps []struct{ Uses, Run string }
			}
		}
		manifest(t, ".github/workflows/"+filepath.Base(path), &workflow)
		for name, job := range workflow.Jobs {
			if job.Uses != "" {
				repositoryFile(t, job.Uses)
			}
			for _, step := range job.Steps {
				program, args, _ := strings.Cut(step.Run, " ")
				switch {
				case step.Uses != "":
					if !regexp.MustCompile(`^[a-z-]+/[a-z-]+@v\d+$`).MatchString(step.Uses) {
						t.Errorf("%s: %s uses %s", path, name, step.Uses)
					}
				case program == "make":
					if made[args] = true; !targets[args] {
						t.Errorf("%s: %s makes %q, which is no target", path, name, args)
					}
				default:
					repositoryFile(t, program)
				}
			}
		}
	}
	for _, target := range []string{"test", "lint", "proof"} {
		if !made[target] {
			t.Errorf("no workflow runs make %s", target)
		}
	}
}

// The image has a fixed tag, and the binary prints the same version.
func TestFixedVersion(t *testing.T) {
	m := readManifests(t)
	if image := m.deployment.Spec.Template.Spec.Containers[0].Image; !regexp.MustCompile(`:v\d+\.\d+\.\d+$`).MatchString(image) {
		t.Errorf("image %q", image)
	}
	text := repositoryFile(t, "Dockerfile")
	if !regexp.MustCompile(`(?m)^ARG VERSION\b`).MatchString(text) || !strings.Contains(text, "-X main.linked=${VERSION}") {
		t.Error("the image's version does not reach the binary")
	}
}

// The image runs as a numeric user, handles SIGTERM, and has labels and a health check.
func TestDockerfile(t *testing.T) {
	stages := strings.Split("\n"+repositoryFile(t, "Dockerfile"), "\nFROM ")
	last := stages[len(stages)-1]
	for _, want := range []string{`(?m)^USER [1-9]\d*:`, `(?m)^STOPSIGNAL SIGTERM$`, `(?m)^ENTRYPOINT \["/cronce"\]$`,
		`(?m)^HEALTHCHECK .* CMD \["/cronce", "node", "health"\]$`, `image\.version="\$\{VERSION\}"`, `image\.revision="\$\{REVISION\}"`, `image\.licenses="Apache-2.0"`} {
		if !regexp.MustCompile(want).MatchString(last) {
			t.Errorf("the last stage does not have %s", want)
		}
	}
	if len(stages) != 3 || !strings.Contains(stages[1], "CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath") {
		t.Errorf("%d stages", len(stages)-1)
	}
	for _, stage := range stages[1:] {
		if base, _, _ := strings.Cut(stage, "\n"); !regexp.MustCompile(`^(scratch|--platform=\$BUILDPLATFORM \S+@sha256:[0-9a-f]{64} AS \w+)$`).MatchString(base) {
			t.Errorf("the base %q has no digest", base)
		}
	}
}
