package node

import (
	"os"
	"testing"

	"github.com/cronce/cronce/cmd/internal/config"
)

// A file that changes after the node has read it for the first time is read again before the node uses it.
func TestNewFileChangesWhileItIsRead(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(former *config.Config) (*config.Config, error) {
		data, err := os.ReadFile(dir + "/c.yaml")
		if err != nil {
			return nil, err
		}
		return config.Read(config.Source{Name: dir + "/c.yaml", Data: data, Former: former}, nil, nil)
	}
	put("c.yaml", "jobs: []\n")
	last, err := read(nil)
	if err != nil {
		t.Fatal(err)
	}
	put("c.yaml", "include: [a.yaml]\n")
	put("a.yaml", "jobs: [{kind: sleep, name: first, spec: '@daily'}]\n")
	reads := 0
	r := reloader{last: last, again: again{read: func(former *config.Config) (*config.Config, error) {
		c, err := read(former)
		if reads++; reads == 1 {
			put("a.yaml", "jobs: [{kind: sleep, name: the-second, spec: '@daily'}]\n")
		}
		return c, err
	}}}
	c, seen, err := r.settled(t.Context(), 0)
	if err != nil || len(c.Jobs) != 1 || c.Jobs[0].Name != "the-second" {
		t.Fatalf("%v %+v", err, c)
	}
	if len(seen) != 2 || !seen.same(readFileStates(c.Files())) {
		t.Errorf("the state of %d files is seen, want that of 2", len(seen))
	}
}
