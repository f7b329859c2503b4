package cronce_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The modules of a program that uses the library have none of the libraries that only tests of
// histories, of pages and of random cases need: those tests stand in a module of their own, or do
// without.
func TestModulesOfAProgram(t *testing.T) {
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.sum": string(sums),
		"go.mod": fmt.Sprintf("module program\n\ngo 1.26.0\n\nrequire github.com/cronce/cronce v0.0.0\n\nreplace github.com/cronce/cronce => %q\n", root),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list := exec.Command("go", "list", "-mod=mod", "-m", "all")
	list.Dir = dir
	list.Env = append(os.Environ(), "GOWORK=off")
	out, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "github.com/redis/go-redis/v9 ") {
		t.Errorf("the list lacks the client of Redis:\n%s", out)
	}
	for module := range strings.Lines(string(out)) {
		for _, unwanted := range []string{"chromedp", "cdproto", "porcupine", "rapid"} {
			if strings.Contains(module, unwanted) {
				t.Errorf("the list has %s", module)
			}
		}
	}
}
