//go:build unix

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/shop/internal/oversell"
	"github.com/cronce/cronce/cmd/shop/internal/oversell/sale"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/sqlserver"
)

// sold is the JSON of oversell.
type sold struct {
	OK         bool       `json:"ok"`
	Strategies []sale.Row `json:"strategies"`
}

func (s *sold) read(t *testing.T, stdout string) {
	t.Helper()
	if err := json.Unmarshal([]byte(stdout), s); err != nil {
		t.Fatalf("%v in %q", err, stdout)
	}
}

// Buyers in two processes, whose work is long enough that they meet: the wrong
// strategies oversell, a mutex as well, or the test is broken.
func TestOversellWrong(t *testing.T) {
	t.Parallel()
	c := start(t, "oversell", "--stock", "2", "--buyers", "6", "--processes", "2", "--work", "800ms",
		"--strategy", "none,mutex,setnx", "-o", "json")
	if code := c.code(); code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
	var got sold
	got.read(t, c.stdout.String())
	if len(got.Strategies) != 3 || !got.OK {
		t.Fatalf("%+v", got)
	}
	for _, r := range got.Strategies {
		if r.Oversold < 1 || r.Exact || r.MustBeExact || r.Errors != 0 || r.Buyers != 6 || r.Sold != r.Orders {
			t.Errorf("%s: %v: %+v", r.Strategy, &r, r)
		}
	}
}

// All others but zookeeper sell five items to ten buyers from three processes. A mutex does so for buyers of one
// process.
func TestOversellExact(t *testing.T) {
	t.Parallel()
	var exact []string
	for _, k := range oversell.Kinds() {
		if k.Wrong == oversell.Never && k.Name != "zookeeper" { // TestExactWithZooKeeper sells with that
			exact = append(exact, k.Name)
		}
	}
	c := start(t, "oversell", "--work", "2ms", "--strategy", strings.Join(exact, ","))
	if code := c.code(); code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
	out := c.stdout.String()
	if !strings.Contains(out, "5 items and 10 buyers that come at once, to 3 processes.") || strings.Contains(out, "\x1b") {
		t.Errorf("printed\n%s", out)
	}
	for _, name := range exact {
		row := line(out, name+" ")
		if f := strings.Fields(row); len(f) < 13 || strings.Join(f[1:7], " ") != "10 5 5 0 0 0" || f[len(f)-1] != "exact" {
			t.Errorf("the row of %s is %q", name, row)
		}
	}
	for name, loss := range map[string]string{"lock": "+3 of 5", "sql-lease": "-", "reserve": "0 of 5"} {
		if row := line(out, name+" "); !strings.HasSuffix(row, "  "+loss+"  exact") {
			t.Errorf("the row of %s is %q, want %s after a loss", name, row, loss)
		}
	}
	cronceRow := start(t, "oversell", "--processes", "1", "--strategy", "mutex", "--work", "2ms", "-o", "json")
	cronceRow.code()
	var got sold
	got.read(t, cronceRow.stdout.String())
	if r := got.Strategies[0]; !r.Exact || !r.MustBeExact || r.Sold != 5 {
		t.Errorf("a mutex in one process: %v: %+v", &r, r)
	}
}

// line returns the line of a text that begins with something.
func line(text, begin string) string {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, begin) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// On real stores it leaves nothing behind, and shows no password.
func TestOversellOnRealStores(t *testing.T) {
	t.Parallel()
	servers := []*redisserver.Server{redisserver.Start(t, "--requirepass", "hunter2"), redisserver.Start(t, "--requirepass", "hunter2"),
		redisserver.Start(t, "--requirepass", "hunter2")}
	pg := sqlserver.Postgres(t)
	name := pg.Create(t)
	args := []string{"oversell", "--work", "2ms", "--dsn-env", "SHOP"}
	for _, s := range servers {
		args = append(args, "--redis", "redis://"+s.Addr())
	}
	dsn := strings.Replace(pg.DSN(name), "@", ":sesame@", 1)
	c := startWith(t, []string{"SHOP=" + dsn, config.PasswordEnv + "=hunter2"}, args...)
	if code := c.code(); code != exit.Fine {
		t.Errorf("exit code %d", code)
	}
	out := c.stdout.String() + c.stderr.String()
	if strings.Contains(out, "hunter2") || strings.Contains(out, "sesame") || !strings.Contains(out, "redlock over 3") || !strings.Contains(out, pg.Addr()) {
		t.Errorf("printed\n%s", out)
	}
	for _, s := range servers {
		client := redis.NewClient(&redis.Options{Addr: s.Addr(), Password: "hunter2"})
		if keys, err := client.Keys(t.Context(), "*").Result(); err != nil || len(keys) != 0 {
			t.Errorf("left: %v, %v", keys, err)
		}
		_ = client.Close()
	}
	var tables int
	db := sqlserver.Connect(t, pg.Driver(), pg.DSN(name))
	if err := db.QueryRow("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'cronce\\_%'").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables are left, %v", tables, err)
	}
	var rows int
	if err := db.QueryRow("SELECT (SELECT COUNT(*) FROM cronce_leases) + (SELECT COUNT(*) FROM cronce_places)").Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d leases and places are left, %v", rows, err)
	}
}

// Servers that do not answer are named before anything is sold.
func TestOversellNoServer(t *testing.T) {
	t.Parallel()
	for _, flag := range [][]string{{"--redis", "redis://127.0.0.1:1"}, {"--dsn", "postgres://shop@127.0.0.1:1/shop"}, {"--zookeeper", "127.0.0.1:1"}} {
		t.Run(flag[0], func(t *testing.T) {
			t.Parallel()
			r := call(t, append([]string{"oversell"}, flag...)...)
			r.want(t, exit.NotKnown, "127.0.0.1:1")
			if r.stdout != "" {
				t.Errorf("printed %q", r.stdout)
			}
		})
	}
}

// A database in a file that is named is used, and is left as it was.
func TestOversellNamedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "my shop.db")
	for flag, said := range map[string]string{"--work=0s": "works for 0s.", "--stock=1000": "works for 2ms."} {
		c := start(t, "oversell", flag, "--strategy", "sql-conditional", "--dsn-file", file(t, "dsn", "sqlite:"+path+"\n"))
		if code := c.code(); code != exit.Fine || !strings.Contains(c.stdout.String(), said) {
			t.Errorf("%s: exit code %d", flag, code)
		}
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var tables int
	if err := db.QueryRow("SELECT COUNT(*) FROM sqlite_master").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables are left, %v", tables, err)
	}
}

// A strategy that oversold and must not ends the command with 1, and without another line. Other errors keep their codes.
func TestOversellBroken(t *testing.T) {
	for err, code := range map[error]int{sale.ErrBroken: exit.Failed, context.DeadlineExceeded: exit.NotKnown} {
		got := coded(fmt.Errorf("run: %w", err))
		if exit.Code(got, true) != code || exit.IsPrinted(got) != errors.Is(err, sale.ErrBroken) {
			t.Errorf("%v: exit code %d, want %d; printed %v", err, exit.Code(got, true), code, exit.IsPrinted(got))
		}
	}
	if err := coded(nil); err != nil {
		t.Error(err)
	}
}

// A buyer whose patience is over gets an error.
func TestOversellPatience(t *testing.T) {
	t.Parallel()
	c := start(t, "oversell", "--buyers", "3", "--work", "10s", "--patience", "1s", "--strategy", "sql-conditional", "-o", "json")
	c.code()
	var got sold
	got.read(t, c.stdout.String())
	if r := got.Strategies[0]; r.Errors != 3 || r.Sold != 0 {
		t.Errorf("%v: %+v", &r, r)
	}
}

// Ctrl-C ends the processes, and so does the death of the command.
func TestOversellEnds(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		dir := t.TempDir()
		c := startWith(t, []string{"TMPDIR=" + dir}, "oversell", "--work", "10s", "--strategy", "lock") // a killed process removes nothing
		var pids []int
		eventually(t, "three processes", func() bool { pids = childrenOf(c.cmd.Process.Pid); return len(pids) == 3 })
		eventually(t, "the head of the table", func() bool { return strings.Contains(c.stdout.String(), "STRATEGY") })
		c.signal(s)
		if code := c.code(); code != exit.Failed && s == syscall.SIGINT {
			t.Errorf("exit code %d after %v", code, s)
		}
		goneAll(t, pids)
		if left, err := os.ReadDir(dir); s == syscall.SIGINT && (err != nil || len(left) > 0) {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

// childrenOf are the processes whose parent is pid.
func childrenOf(pid int) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var child, parent int
		var state string
		at := strings.LastIndexByte(string(stat), ')')
		if at < 0 {
			continue
		}
		if _, err := fmt.Sscan(string(stat), &child); err != nil {
			continue
		}
		if _, err := fmt.Sscan(string(stat[at+1:]), &state, &parent); err == nil && parent == pid {
			pids = append(pids, child)
		}
	}
	return pids
}

// goneAll waits until processes are gone.
func goneAll(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, "process "+strconv.Itoa(pid)+" is gone", func() bool {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			return err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ")
		})
	}
}

// Each mistake in the command line ends with exit code 2, names the flag, and shows no password.
func TestOversellUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"oversell", "--stock", "0"}, "--stock is 0, must be 1 to 1000000"},
		{[]string{"oversell", "--buyers", "-1"}, "--buyers is -1, must be 1 to 100000"},
		{[]string{"oversell", "--buyers", "2"}, "--processes is 3, must be 1 to 32, and no more than buyers"},
		{[]string{"oversell", "--stock", "1000001"}, "--stock is 1000001"},
		{[]string{"oversell", "--buyers", "100001"}, "--buyers is 100001"},
		{[]string{"oversell", "--buyers", "50", "--processes", "33"}, "--processes is 33"},
		{[]string{"oversell", "--work", "-1s"}, "--work is -1s"},
		{[]string{"oversell", "--zookeeper", "h:"}, `--zookeeper is "h:", must be host:port`},
		{[]string{"oversell", "--work", "1h"}, "--work is 1h0m0s, must be up to 10s"},
		{[]string{"oversell", "--patience", "0s"}, "--patience is 0s, must be 1s to 1h"},
		{[]string{"oversell", "--patience", "61m"}, "--patience is 1h1m0s"},
		{[]string{"oversell", "--strategy", "none,redlok"}, `--strategy is "redlok"`},
		{[]string{"oversell", "--strategy", "redlok"}, `did you mean "redlock"?`},
		{[]string{"oversell", "--strategy", "lock,zookeeper"}, `--strategy is "zookeeper", which needs --zookeeper`},
		{[]string{"oversell", "--redis", "redis://u:hunter2@h"}, "has a password, which may not stand here"},
		{[]string{"oversell", "--redis", "redis://a", "--redis", "redis://b"}, "--redis is given 2 times, must be once, or 3, 5 or 7 times"},
		{[]string{"oversell", "--dsn", "postgres://u:hunter2@h/d"}, "--dsn has a password, which may not stand here"},
		{[]string{"oversell", "--dsn", "oracle://h/d"}, "--dsn is no DSN of a database that is known here, must be postgres://"},
		{[]string{"oversell", "--zookeeper", "h:2181,h"}, `--zookeeper is "h", must be host:port`},
		{[]string{"oversell", "--dsn", "sqlite:x", "--dsn-env", "Y"}, "more than one of --dsn, --dsn-env and --dsn-file"},
		{[]string{"oversell", "--dsn-env", "SHOP_TEST_NOT_SET"}, "--dsn-env names a variable that is not set"},
		{[]string{"oversell", "--dsn-file", "/nonexistent"}, "--dsn-file: dsn: names a file that cannot be used: no such file"},
	} {
		r := call(t, c.args...)
		r.want(t, exit.WrongUsage, c.want)
		if r.stdout != "" || strings.Contains(r.stderr, "hunter2") {
			t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
		}
	}
}

// A variable that was made from a file may end with a line break, which is no part of the DSN.
func TestOversellDSNVariable(t *testing.T) {
	t.Setenv("SHOP_TEST_DSN", "sqlite:x\r\n")
	f := oversellFlags{dsnEnv: "SHOP_TEST_DSN"}
	if dsn, err := f.database(); dsn != "sqlite:x" || err != nil {
		t.Errorf("got %q, %v", dsn, err)
	}
}
