package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reading reads a configuration with some variables.
func reading(t *testing.T, text string, env map[string]string) *Config {
	t.Helper()
	c, err := Read(Source{Name: "c.yaml", Data: []byte(text), Env: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}}, nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// The client gets the servers, the user and the password of a store, and a password never travels
// in plain text to another machine.
func TestStoreURLs(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	const plain = "store: allows a connection to another machine without TLS: set sslmode=verify-full"
	for _, c := range []struct{ url, password, want string }{
		{"redis-sentinel://a,b:1/m", "", `Redis master "m" of Sentinels [a:26379 b:1]`},
		{"redis-cluster://a", "", "Redis a:6379"},
		{"memory:", "", "the memory of this process"},
		{"redis-cluster://a,[::1],b:7", "", "Redis Cluster [a:6379 [::1]:6379 b:7]"},
		{"zookeeper://a,[::1]:9", "", "zookeeper://a,[::1]:9: [a:2181 [::1]:9] as  with "},
		{"zookeeper://me@a", "hunter2", "zookeeper://a: [a:2181] as me with hunter2"},
		{"zookeeper://a", "hunter2", "store: names no user, but a password is set: write zookeeper://user@host"},
		{"postgresql://me@h/x", "", "postgres://h/x: postgresql://me@h/x"},
		{"postgres://me@h/x", "hunter2", plain},
		{"postgres://me@h/x?sslmode=require", "hunter2", "postgres://h/x: postgres://me:hunter2@h/x?sslmode=require"},
		{"postgres://me@localhost/x", "hunter2", "postgres://localhost/x: postgres://me:hunter2@localhost/x"},
		{"postgres://me@a:1,b:2/x", "", "postgres://a:1,b:2/x: postgres://me@a:1,b:2/x"},
		{"postgres://h/x", "hunter2", "store: names no user, but a password is set: write postgres://user@host/database"},
		{"mariadb://me@h/x", "", "mysql://h/x: me@tcp(h:3306)/x"},
		{"mariadb://me@h/x", "hunter2", plain},
		{"mysql://me@h:1/x?tls=true", "hunter2", "mysql://h:1/x: me:hunter2@tcp(h:1)/x"},
		{"postgres://me@h/x?sslmode=verify-ca&sslrootcert=/nowhere/hunter2", "", "store: has a parameter sslrootcert that names a file that cannot be used: no such file or directory"}, // only where it is used
	} {
		conf := reading(t, "plaintext: refuse\nstore: '"+c.url+"'\n", map[string]string{StorePasswordEnv: c.password})
		got := conf.StoreName()
		var err error
		switch conf.Address().Kind {
		case StoreZooKeeper:
			var user string
			var password Secret
			user, password, err = conf.StoreUser()
			got += fmt.Sprintf(": %v as %s with %s", conf.Address().Servers, user, password.Text())
		case StorePostgres, StoreMySQL:
			var d DSN
			d, err = conf.StoreDSN()
			got += ": " + d.Source
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || err != nil && strings.Contains(got, "hunter2") {
			t.Errorf("%s is %s, want %s", c.url, got, c.want)
		}
	}
	c := reading(t, "store: 'postgres://me@h/x'\n", map[string]string{StorePasswordEnv: "hunter2"})
	warned := ""
	c.OnPlaintext(func(path, text string) { warned += path + ": " + text })
	if d, err := c.StoreDSN(); err != nil || !strings.HasPrefix(warned, plain) || !d.HasPassword {
		t.Errorf("warned of %q, %v", warned, err)
	}
}

// A port that no server can have is a fault of each kind of URL, also behind the first host.
func TestStorePorts(t *testing.T) {
	for _, hosts := range []string{"a:65536", "a:0", "a,[::1]:99999,b", "a:1,b:port", "me:secret:1", "a,me:secret:1"} {
		for _, url := range []string{"redis-sentinel://%s/m", "redis-cluster://%s", "postgres://%s/x", "mysql://%s/x", "zookeeper://me@%s"} {
			c := Config{Store: fmt.Sprintf(url, hosts), origin: map[string]string{}}
			var faults []string
			c.storeFaults(func(path, format string, args ...any) {
				faults = append(faults, path+": "+fmt.Sprintf(format, args...))
			})
			if len(faults) != 1 || !strings.HasPrefix(faults[0], "store: has a port that is not 1 to 65535, must be redis://") {
				t.Errorf("%s: %q", c.Store, faults)
			}
		}
	}
	for dsn, fits := range map[string]bool{"postgres://h:65535/x": true, "postgres://h:65536/x": false, "mysql://h:0/x": false, "postgres://a:1,b:2/x": true, "postgres://a:99999,b:2/x": false, "postgres://a,b/x?port=1,2": true, "postgres://a/x?port=1,65536": false} {
		if _, err := ParseDSN(dsn); (err == nil) != fits || err != nil && !strings.HasPrefix(err.Error(), badPort) {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}

// A parameter that the driver of the database refuses is a fault when the configuration is read. The fault names it, and
// repeats no value, which may be a password. Parameters of servers, and files that only nodes have, are none.
func TestStoreParameters(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	const mode, number, duration = "must be disable, allow, prefer, require, verify-ca or verify-full", "must be a whole number of seconds", "must be a duration such as 5s"
	for url, want := range map[string]string{
		"postgres://me@h/x?sslmode=hunter2":                                "sslmode " + mode,
		"postgres://me@a:1,b:2/x?foo=1&sslmode=hunter2":                    "sslmode " + mode,
		"postgres://me@h/x?connect_timeout=hunter2":                        "connect_timeout " + number,
		"postgres://me@h/x?sslmode=require&connect_timeout=1s":             "connect_timeout " + number,
		"postgres://me@h/x?connect_timeout=hunter2&sslmode=hunter2":        "connect_timeout " + number,
		"postgres://me@h/x?statement_cache_capacity=hunter2":               "statement_cache_capacity",
		"postgres://me@h/x?foo=hunter2&connect_timeout=5":                  "",
		"postgres://me@h/x?sslmode=verify-full&sslrootcert=/nowhere/ca":    "",
		"postgres://me@h/x?sslcert=/nowhere/cert&sslkey=/nowhere/key":      "",
		"postgres://me@h/x?sslmode=%zz":                                    "parameters that are no query",
		"mysql://me@h/x?tls=hunter2":                                       "tls must be true, false, skip-verify or preferred",
		"mysql://me@h/x?timeout=hunter2":                                   "timeout " + duration,
		"mysql://me@h/x?tls=true&readTimeout=5":                            "readTimeout " + duration,
		"mariadb://me@h/x?maxAllowedPacket=hunter2":                        "maxAllowedPacket",
		"mysql://me@h/x?parseTime=hunter2":                                 "parseTime must be true or false",
		"mysql://me@h/x?tls=true&timeout=1m30s&time_zone='%2B05:30'&foo=1": "",
	} {
		c := Config{Store: url, origin: map[string]string{}}
		var got string
		c.storeFaults(func(path, format string, args ...any) { got += path + ": " + fmt.Sprintf(format, args...) })
		got = strings.NewReplacer(" that the driver does not take,", "", " that the driver of the database does not take", "").Replace(got)
		if want != "" && !strings.HasPrefix(want, "parameters") {
			want = "store: has a value of the parameter " + want
		}
		if want == "" && got != "" || !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

// Without a configured store the file is in the state directory of systemd, or else of the user.
func TestStateDirectory(t *testing.T) {
	env := map[string]string{"STATE_DIRECTORY": "/srv/a:/srv/b", "XDG_STATE_HOME": "/xdg", "HOME": "/home/me", "USERPROFILE": "/users/me"}
	for _, step := range []struct{ want, then string }{
		{"/srv/a/cronce.db", "STATE_DIRECTORY"},
		{"/xdg/cronce/cronce.db", "XDG_STATE_HOME"},
		{"/home/me/.local/state/cronce/cronce.db", "HOME"},
		{"/users/me/.local/state/cronce/cronce.db", "USERPROFILE"},
	} {
		if a := reading(t, "", env).Address(); a.Kind != StoreSQLite || a.File != filepath.FromSlash(step.want) || !a.Default {
			t.Errorf("%+v, want %s", a, step.want)
		}
		env[step.then] = "" // an empty variable counts as not set
	}
	if a := reading(t, "store: sqlite:///srv/x.db", nil).Address(); a.File != "/srv/x.db" || a.Default {
		t.Errorf("%+v", a)
	}
}

// A reload changes jobs, and keeps all settings that need a restart, which it names.
func TestKeepFixed(t *testing.T) {
	running := reading(t, "redis: {url: 'redis://one/3'}\njobs: [{kind: sleep, name: a, spec: '@daily'}]\n", nil)
	warned := 0
	running.OnPlaintext(func(string, string) { warned++ })
	running.OnStale(func(error) { warned++ })
	c := reading(t, `name: n
namespace: m
zone: Asia/Tokyo
plaintext: warn
store: postgres://me@two/x
store_password_env: A
http: {address: "off"}
log: {level: debug}
scheduler: {grace: 1s}
defaults: {lease: 9s}
jobs: [{kind: sleep, name: b, spec: '@daily'}]
ops: {address: "off"}
`, nil)
	want := []string{"name", "namespace", "zone", "plaintext", "store", "store_password_env", "redis", "http", "log", "scheduler"}
	if got := c.KeepFixed(running); !slices.Equal(got, want) {
		t.Errorf("%q need a restart, want %q", got, want)
	}
	if err := c.InPlain("a", "b"); err != nil || warned != 1 {
		t.Errorf("%d warnings, %v", warned, err)
	}
	if c.stale(nil); warned != 2 {
		t.Error("a stale file is not reported")
	}
	if c.Name != "" || c.Namespace != "cronce" || c.StoreName() != "redis://one:6379/3" || c.database() != 3 || c.Log.Level != "info" {
		t.Errorf("not all is kept: %+v", c)
	}
	if len(c.Jobs) != 1 || c.Jobs[0].Name != "b" || c.Defaults.Lease == nil || c.Ops == nil {
		t.Errorf("the jobs are not the new ones: %+v", c.Jobs)
	}
	if got := c.KeepFixed(running); got != nil {
		t.Errorf("%q differ after that", got)
	}
}
