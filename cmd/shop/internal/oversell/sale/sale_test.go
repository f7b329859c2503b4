package sale

import (
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// A run in which a strategy oversold that must not fails, also for machines.
func TestBroken(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var b strings.Builder
		table := newTable(&b, &Options{Stock: 1, Buyers: 1, Processes: 2, JSON: asJSON}, "")
		for name, exact := range map[string]bool{"lock": false, "reserve": true} {
			table.add(oversell.Kind{Name: name}, oversell.Result{Strategy: name, Exact: exact})
		}
		table.add(oversell.Kind{Name: "none", Wrong: oversell.Always}, oversell.Result{Strategy: "none"})
		table.add(oversell.Kind{Name: "zookeeper"}, oversell.Result{Strategy: "zookeeper", Skipped: "no ZooKeeper"})
		if err := table.summary(); !errors.Is(err, ErrBroken) {
			t.Errorf("%v, want %v", err, ErrBroken)
		}
		if want := map[bool]string{false: "BROKEN: lock must", true: `"ok": false`}[asJSON]; !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing from %s", want, b.String())
		}
	}
}

// An error of a worker ends the run.
func TestWorkerError(t *testing.T) {
	responses := make(chan response, 1)
	responses <- response{Error: "no store"}
	w := &workers{all: []*worker{{name: "process 1", in: json.NewEncoder(io.Discard), responses: responses}}}
	if _, err := w.each(t.Context(), func(int) request { return request{} }); err == nil || err.Error() != "process 1: no store" {
		t.Errorf("%v", err)
	}
}

// A run that cannot make its second table leaves none behind, nor a folder.
func TestTablesThatFail(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	name := filepath.Join(t.TempDir(), "db")
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE oversell_a_order (id VARCHAR(64))"); err != nil {
		t.Fatal(err)
	}
	s := &stores{plan: plan{Run: "oversell_a", Embedded: true, DSN: "sqlite:" + name, Buyers: 1, openRedis: connect}}
	if err := s.open(t.Context()); err == nil || !strings.Contains(err.Error(), "create a table") {
		t.Errorf("%v, want a table that cannot be made", err)
	}
	s.close()
	var left int
	if err := db.QueryRow("SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'oversell%'").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d tables are left, %v", left, err)
	}
	if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) > 0 {
		t.Errorf("left: %v, %v", files, err)
	}
}

// A Redis that does not answer at the end does not keep the data in the other stores.
func TestCloseWithoutAnAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	first, last := miniredis.RunT(t), miniredis.RunT(t)
	_, _ = first.Set("a:v1:lock", "held"), last.Set("a:v1:lock", "held")
	go func() { // says nothing until the others have lost their data
		c, err := silent.Accept()
		for err == nil && (first.Exists("a:v1:lock") || last.Exists("a:v1:lock")) && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if err == nil {
			_ = c.Close()
		}
		_ = silent.Close()
	}()
	client := func(address string) redis.UniversalClient {
		return redis.NewClient(&redis.Options{Addr: address, ReadTimeout: time.Minute, ContextTimeoutEnabled: true, MaxRetries: -1})
	}
	s := &stores{Env: &oversell.Env{Run: "a", Redis: client(first.Addr()),
		Redlock: []redis.UniversalClient{client(silent.Addr().String()), client(last.Addr())}}}
	s.close()
	if keys := append(first.Keys(), last.Keys()...); len(keys) > 0 {
		t.Errorf("left: %v", keys)
	}
}

// connect makes a client of a Redis inside this process.
func connect(url string, _ bool, _ func(setting, text string), _ func(*redis.UniversalOptions)) (redis.UniversalClient, string, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, "", err
	}
	return redis.NewClient(o), url, nil
}
