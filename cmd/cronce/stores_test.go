package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/internal/zkserver"
)

const storeJobs = `jobs:
  - {kind: exec, name: hello, spec: "* * * * * *", exec: {command: [echo, hi], log: true}}
http: {address: "off"}
`

// storeURL returns the URL for --store of a database of a server, and sets its password.
func storeURL(t *testing.T, s *sqlserver.Server) string {
	t.Helper()
	name := s.Create(t)
	if s.Driver() == "pgx" {
		return "postgres://" + userOf(s.DSN(name)) + "@" + s.Addr() + "/" + name + "?sslmode=disable"
	}
	user, _, _ := strings.Cut(s.DSN(name), "@")
	user, password, _ := strings.Cut(user, ":")
	t.Setenv("CRONCE_STORE_PASSWORD", password)
	return "mysql://" + user + "@" + s.Addr() + "/" + name
}

// userOf returns the user in the DSN of a PostgreSQL.
func userOf(dsn string) string {
	if _, rest, ok := strings.Cut(dsn, "user="); ok {
		user, _, _ := strings.Cut(rest, " ")
		return user
	}
	_, rest, _ := strings.Cut(dsn, "://")
	user, _, _ := strings.Cut(rest, "@")
	user, _, _ = strings.Cut(user, ":")
	return user
}

// Nodes, and all commands that read or control the cluster, work on each store.
func TestStores(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) string{
		"PostgreSQL": func(t *testing.T) string { return storeURL(t, sqlserver.Postgres(t)) },
		"MariaDB":    func(t *testing.T) string { return storeURL(t, sqlserver.MariaDB(t)) },
		"SQLite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "cronce.db") },
		"ZooKeeper":  func(t *testing.T) string { return "zookeeper://" + zkserver.Start(t).Addr() },
		"Redis": func(t *testing.T) string {
			_, url := newRedis(t)
			return url
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "MariaDB" { // its password is in the environment
				t.Parallel()
			}
			url := open(t)
			if name == "PostgreSQL" || name == "MariaDB" {
				cronce(t, "node", "--config", file(t, "c.yaml", storeJobs), "--store", url).want(t, exit.Refused, "cronce migrate")
				cronce(t, "migrate", "--store", url).want(t, exit.Fine, "are up to date")
			}
			steered(t, url)
		})
	}
}

// doctor ends as documented for a refused user on a ZooKeeper whose nodes belong to another one.
func TestDoctorOnNodesOfAnotherUser(t *testing.T) {
	url := "zookeeper://me@" + zkserver.Start(t).Addr()
	t.Setenv("CRONCE_STORE_PASSWORD", "first")
	cronce(t, "lock", "key", "--store", url, "--", "true").want(t, exit.Fine)
	t.Setenv("CRONCE_STORE_PASSWORD", "second")
	cronce(t, "doctor", "--store", url).want(t, exit.Refused, "lacks a right", "authenticate as the other processes")
}

// steered runs two nodes on a store, and controls them.
func steered(t *testing.T, url string) {
	t.Helper()
	config := file(t, "c.yaml", storeJobs)
	a, b := start(t, "node", "--config", config, "--store", url), start(t, "node", "--config", config, "--store", url)
	ran := func() int { return len(a.logs("output")) + len(b.logs("output")) }
	eventually(t, "three ticks ran", func() bool { return ran() >= 3 })
	ask := func(code int, want string, args ...string) {
		t.Helper()
		cronce(t, append(args, "--store", url)...).want(t, code, want)
	}
	ask(exit.Fine, "2 nodes", "status")
	ask(exit.Fine, "hello", "status", "jobs")
	ask(exit.Fine, "alive", "status", "nodes")
	ask(exit.Fine, "Nothing is overdue", "status", "overdue")
	ask(exit.Fine, "answers", "doctor")
	ask(exit.Fine, "hello", "pause", "hello", "--reason", "for a test")
	ask(exit.Fine, "for a test", "audit")
	ask(exit.Fine, "Paused", "why", "hello", "next")
	ask(exit.Fine, "hello", "resume", "hello")
	before := ran()
	eventually(t, "two more ticks ran", func() bool { return ran() >= before+2 })
	cronce(t, "lock", "key", "--store", url, "--", "true").want(t, exit.Fine)
	for _, printed := range []string{"ran\n", ""} { // once for its tick
		r := cronce(t, "lock", "key", "--tick", "@yearly", "--store", url, "--", "echo", "ran")
		if r.want(t, exit.Fine); r.stdout != printed {
			t.Errorf("a command with --tick printed %q, want %q", r.stdout, printed)
		}
	}
	ask(exit.Fine, "ok in", "why", "lock/key", "last")
	a.signal(syscall.SIGTERM)
	b.signal(syscall.SIGTERM)
	if a.code() != exit.Fine || b.code() != exit.Fine {
		t.Errorf("the nodes ended with %d and %d", a.code(), b.code())
	}
	ask(exit.Fine, "and each has one verdict", "verify")
	ask(exit.Fine, "ok", "runs", "hello")
	runs := cronce(t, "runs", "hello", "--verdict", "ok", "-o", "name", "--store", url)
	id, _, _ := strings.Cut(runs.stdout, "\n")
	_, tick, _ := strings.Cut(id, "@")
	ask(exit.Fine, "Output:\n  hi\n", "why", "hello", tick)
}

// Without a configured store a node uses a file, and logs this; a second node shares it. In a
// container of an orchestrator the node does not start.
func TestNoStoreConfigured(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	for _, name := range []string{"STATE_DIRECTORY", "KUBERNETES_SERVICE_HOST"} {
		t.Setenv(name, "")
		_ = os.Unsetenv(name)
	}
	cronce(t, "status").want(t, exit.WrongUsage, "no store is configured, and there is no file "+state+"/cronce/cronce.db")
	config := file(t, "c.yaml", storeJobs)
	a, b := start(t, "node", "--config", config), start(t, "node", "--config", config)
	eventually(t, "three ticks ran", func() bool { return len(a.logs("output"))+len(b.logs("output")) >= 3 })
	if l := a.logs("store risk"); len(l) != 1 || l[0].Text("topic") != "one host" {
		t.Errorf("it logged %v", l)
	}
	a.signal(syscall.SIGTERM)
	b.signal(syscall.SIGTERM)
	a.code()
	b.code()
	cronce(t, "verify").want(t, exit.Fine, "and each has one verdict")
	for _, sign := range []string{"KUBERNETES_SERVICE_HOST", "NOMAD_ALLOC_ID", "ECS_CONTAINER_METADATA_URI_V4"} {
		t.Run(sign, func(t *testing.T) {
			t.Setenv(sign, "x")
			cronce(t, "node", "--config", config).want(t, exit.WrongUsage, "no store is configured, and $"+sign+" is set")
		})
	}
	for _, home := range []string{"", "home"} { // relative to the directory of each node
		t.Setenv("XDG_STATE_HOME", "")
		t.Setenv("HOME", home)
		for _, command := range []string{"node", "verify"} {
			cronce(t, command, "--config", config).want(t, exit.WrongUsage, "no store is configured, and its file would be ", "/cronce.db, another one in each directory: set store or redis.url, or HOME to an absolute path")
		}
		cronce(t, "next", "@daily").want(t, exit.Fine)
	}
}

func TestStoreFaults(t *testing.T) {
	for url, want := range map[string]string{
		"postgress://db/x":                "store: is no URL of a store, must be redis://",
		"ftp://x":                         "store: is no URL of a store",
		"mysqll://x":                      "; did you mean mysql?",
		"mysql:///x":                      "store: is no URL of a store",
		"mysql://db/x#y":                  "store: is no URL of a store",
		"mysql://db/x/y":                  "store: names no database",
		"mysql://secret77/x@db":           "store: has an @ behind its host",
		"redis-cluster://a,,b":            "store: is no URL of a store",
		"sqlite://h/db":                   "store: names no file",
		"sqlite:x?mode=memory":            "store: names no file",
		"zookeeper://a,":                  "store: is no URL of a store",
		"zookeeper://a?x=1":               "store: has a path or parameters",
		"redis-sentinel://me@a/m":         "store: names a user: set redis.username",
		"redis-sentinel://a/m/n":          "store: names no master",
		"sqlite:u:secret77@h/db":          "store: names no file",
		"postgres://me:secret77@db/x":     "store: has a password, which may not stand here: set $CRONCE_STORE_PASSWORD",
		"mysql://db":                      "store: names no database, must be mysql://[user@]host/database",
		"postgres://db/x?password=secret": "store: has a password",
		"sqlite:":                         "store: names no file, must be sqlite:FILE",
		"zookeeper://a,b/chroot":          "store: has a path or parameters",
		"zookeeper://a,,b":                "store: is no URL of a store",
		"redis-sentinel://a,b":            "store: names no master, must be redis-sentinel://host,host/master",
		"redis-cluster://a/1":             "store: has a path, must be redis-cluster://host,host",
		"redis://:secret77@host":          "--store: has a password, which may not stand here",
		"sqlite://u:secret77@h/db":        "store: names no file",
		"sqlite::memory:":                 "store: names no file",
		"redis-cluster://a?tls=true":      "store: has parameters",
		"zookeeper://me@127.0.0.1:1":      "store: names a user without a password",
		"memory:x":                        "store: has something behind memory:",
		"memory:":                         "store: is memory:, which other processes cannot read",
		"sqlite:/nowhere/there.db":        "names the file /nowhere/there.db, which does not exist",
	} {
		r := cronce(t, "status", "--store", url)
		r.want(t, exit.WrongUsage, want)
		if strings.Contains(r.stderr, "secret") {
			t.Errorf("%s: the secret is in %s", url, r.stderr)
		}
	}
	cronce(t, "status", "--store", "sqlite:x", "--redis", "redis://x").want(t, exit.WrongUsage, "--store: and redis.url are both set, give one of them")
	for text, want := range map[string]string{
		"store: 'sqlite:x'\nredis: {url: 'redis://x'}":                    "c.yaml:1:1: store: and redis.url are both set",
		"store: 'sqlite:x'\nredis: {addresses: ['h:1']}":                  "c.yaml:1:1: store: and redis.addresses are both set",
		"store: 'sqlite:x'\nredis: {pool_size: 5}":                        "c.yaml:2:9: redis.pool_size: is for a Redis, but the store is SQLite x",
		"store: 'sqlite:x'\nstore_password_env: X":                        "c.yaml:2:1: store_password_env: is for a store that is a database or ZooKeeper",
		"store: 'sqlite:x'\nstore_password_file: X":                       "c.yaml:2:1: store_password_file: is for a store that is a database or ZooKeeper",
		"store: 'postgres://'\nredis: {pool_size: 5}":                     "c.yaml:2:9: redis.pool_size: is for a Redis, but the store is postgres",
		"store: 'redis://:secret77@h'":                                    "store: has a password, which may not stand here",
		"store: 'postgres://db/x'\nstore_password_env: NOT_SET_ANYWHERE_": "store_password_env: names a variable that is not set",
	} {
		cronce(t, "status", "--config", file(t, "c.yaml", text+"\n")).want(t, exit.WrongUsage, want)
	}
	t.Setenv("CRONCE_REDIS_USERNAME", "app") // a variable may be set for commands that use a Redis
	cronce(t, "status", "--store", "sqlite:/nowhere/there.db").want(t, exit.WrongUsage, "names the file /nowhere/there.db, which does not exist")
}

// A store of a flag replaces one of the environment, which replaces one of the file. Two of one
// source are a fault.
func TestStoreOfTheLastSource(t *testing.T) {
	const url, sentinels = "redis: {url: 'redis://file'}", "redis: {addresses: ['a:1', 'b:1'], master_name: m}"
	for _, c := range []struct{ yaml, store, redis, flag, want string }{
		{url, "", "", "--store=sqlite:x", "SQLite x"},
		{sentinels, "", "", "--store=redis://x", "redis://x:6379"},
		{sentinels, "redis-cluster://x,y", "", "", "Redis Cluster [x:6379 y:6379]"},
		{"store: sqlite:file", "", "", "--redis=redis://x", "redis://x:6379"},
		{"store: sqlite:file", "", "redis://x", "", "redis://x:6379"},
		{"", "sqlite:x", "", "--redis=redis://y", "redis://y:6379"},
		{"", "", "redis://y", "--store=sqlite:x", "SQLite x"},
		{"", "sqlite:x", "redis://y", "", "CRONCE_STORE: and redis.url are both set"},
		{"redis: {pool_size: 5}", "", "", "", "redis://127.0.0.1:6379"},
		{"store: 'redis://file'\nredis: {pool_size: 5}", "", "", "", "redis://file:6379"},
	} {
		t.Setenv("CRONCE_STORE", c.store)
		t.Setenv("CRONCE_REDIS_URL", c.redis)
		args := []string{"--config", file(t, "c.yaml", c.yaml+"\njobs: [{kind: sleep, name: a, spec: '@daily'}]\n")}
		if c.flag != "" {
			args = append(args, c.flag)
		}
		conf, err := nodeConfig(t, args...)
		if got := fmt.Sprint(err); err == nil && conf.StoreName() != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%+v: got %v, %s", c, conf, got)
		}
	}
}
