package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/node"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/scheduler"
)

const exampleFile = "../../config.yaml"

// nodeConfig loads a configuration as node does.
func nodeConfig(t *testing.T, args ...string) (*config.Config, error) {
	t.Helper()
	var c *config.Config
	var err error
	cmd := &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
		c, err = node.LoadConfig(cmd)
		return nil
	}}
	command.ConfigFlags(cmd, config.NodeOverrides)
	cmd.SetArgs(args)
	if e := cmd.Execute(); e != nil {
		t.Fatal(e)
	}
	return c, err
}

func TestExampleIsFine(t *testing.T) {
	cronce(t, "node", "--config", exampleFile, "--check").want(t, exit.Fine,
		"tryOut  0/5 * * * * ?  UTC", "namespace cronce in redis://127.0.0.1:6379", "The configuration is fine.")
}

// The example has every key.
func TestExampleHasEveryKey(t *testing.T) {
	text, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	for key := range exampleKeys(reflect.TypeFor[config.Config]()) {
		if !strings.Contains(string(text), " "+key+":") && !strings.Contains(string(text), "\n"+key+":") {
			t.Errorf("the example does not have %q", key)
		}
	}
}

// exampleKeys returns the keys of a type of the configuration, and of all types in it.
func exampleKeys(typ reflect.Type) map[string]bool {
	keys := map[string]bool{}
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return keys
	}
	for _, field := range reflect.VisibleFields(typ) {
		if key := field.Tag.Get("yaml"); key != "" {
			keys[key] = true
			maps.Copy(keys, exampleKeys(field.Type))
		}
	}
	return keys
}

// The loader accepts each commented key of the example.
func TestExampleComments(t *testing.T) {
	text, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	known := exampleKeys(reflect.TypeFor[config.Config]())
	for line := range strings.Lines(string(text)) {
		key, rest, ok := strings.Cut(strings.TrimLeft(line, "# -"), ":")
		if ok && !strings.HasPrefix(rest, "//") && !strings.ContainsAny(key, " `(") && !known[key] {
			t.Errorf("the example has %q, which is not known", key)
		}
	}
}

func TestFlagsOverEnvironmentOverFile(t *testing.T) {
	path := file(t, "c.yaml", "name: from-file\nnamespace: from-file\nredis: {url: redis://file:1}\njobs: [{kind: sleep, name: a, spec: '@daily'}]\n")
	t.Setenv("CRONCE_NODE_NAME", "from-env")
	t.Setenv("CRONCE_NAMESPACE", "from-env")
	t.Setenv("CRONCE_CONFIG", path)
	c, err := nodeConfig(t, "--namespace", "from-flag")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Name + " " + c.Namespace + " " + c.RedisName(); got != "from-env from-flag redis://file:1" {
		t.Error(got)
	}
	if c, err = nodeConfig(t, "--redis", "rediss://me@flag:2/3"); err != nil || c.RedisName() != "rediss://flag:2/3" || c.Redis.URL != "rediss://me@flag:2/3" {
		t.Error(c, err)
	}
}

// A URL replaces all settings of the file about the address of the Redis.
func TestURLOverAddresses(t *testing.T) {
	path := file(t, "c.yaml", "redis:\n  addresses: [one:26379, two:26379]\n  master_name: m\njobs: [{kind: sleep, name: a, spec: '@daily'}]\n")
	c, err := nodeConfig(t, "--config", path)
	if err != nil || c.RedisName() != `Redis master "m" of Sentinels [one:26379 two:26379]` {
		t.Error(c, err)
	}
	c, err = nodeConfig(t, "--config", path, "--redis", "redis://x")
	if err != nil || c.RedisName() != "redis://x:6379" {
		t.Error(c, err)
	}
}

// Every fault is reported at once, in the order of the file, each with its place.
func TestAllFaults(t *testing.T) {
	path := file(t, "c.yaml", `namespace: "a b"
redis:
  url: redis://u:hunter2@h:1
  pasword_env: X
  partitions: 2000
  tls: {cert: a.pem}
http: {address: ":8080"}
log: {level: loud, format: xml}
zone: Local
jobs:
  - kind: http
    name: c
    spec: "@daily"
    overlap: sometimes
    retry: {tries: 1, wait: 30}
  - kind: slep
    name: b
    spec: "@daily"
  - kind: sleep
    name: "a b"
    spec: "0 0 30 2 *"
    lease: 1ms
    exec: {shell: x}
  - {kind: sleep, name: b, spec: "@daily", sleep: {for: -1s}}
scheduler: {grace: -1s}
`)
	_, err := nodeConfig(t, "--config", path)
	if err == nil {
		t.Fatal("no fault")
	}
	got := strings.ReplaceAll(err.Error(), path, "c.yaml")
	at := 0
	for _, want := range []string{
		`c.yaml:1:1: namespace: is "a b", must be`,
		`c.yaml:3:3: redis.url: has a password, which may not stand here: set $CRONCE_REDIS_PASSWORD`,
		`c.yaml:4:3: redis.pasword_env: unknown key, did you mean "password_env"?`,
		`c.yaml:5:3: redis.partitions: is 2000, must be 1 to 1024`,
		`c.yaml:6:3: redis.tls: has a cert without its key`,
		`c.yaml:7:8: http.address: is ":8080", which other machines can reach`,
		`c.yaml:8:7: log.level: is "loud"`,
		`c.yaml:8:20: log.format: is "xml"`,
		`c.yaml:9:1: zone: is "Local", must be a name of the time zone database`,
		`jobs[0].http: is missing`,
		`c.yaml:14:14: jobs[0].overlap: is "sometimes", must be skip, queue, allow, replace`,
		`c.yaml:15:29: jobs[0].retry.wait: is "30", must be a duration with its unit`,
		`c.yaml:16:5: jobs[1].kind: is "slep", must be exec, http, sleep`,
		`c.yaml:20:5: jobs[2].name: is "a b"`,
		`c.yaml:21:5: jobs[2].spec: spec "0 0 30 2 *": day of month "30": never fires`,
		`c.yaml:22:5: jobs[2].lease: is 1ms`,
		`c.yaml:23:5: jobs[2].exec: are settings of kind exec`,
		`c.yaml:24:`,
		`jobs[3].name: "b" is taken by another job`,
		`c.yaml:25:13: scheduler.grace: is -1s, must be 0 or more`,
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Errorf("%s\nis missing, or out of order, in\n%s", want, got)
			continue
		}
		at += i
	}
	if strings.Contains(got, "hunter2") {
		t.Error("the password is shown")
	}
}

// Each key with a value that is too large or too small is reported by itself.
func TestBounds(t *testing.T) {
	for setting, want := range map[string]string{
		"redis: {pool_size: 10001}":                 "redis.pool_size: is 10001, must be 1 to 10000, or 0 for the default",
		"redis: {pool_size: -1}":                    "redis.pool_size: is -1, must be 1 to 10000, or 0 for the default",
		"redis: {journal_lines: -1}":                "redis.journal_lines: is -1, must be 1 or more, or 0 for the default",
		"redis: {partitions: 1025}":                 "redis.partitions: is 1025, must be 1 to 1024, or 0 for the default",
		"redis: {journal_bytes: -2}":                "redis.journal_bytes: is -2, must be 1 or more, or 0 for the default",
		"scheduler: {spread: 61s}":                  "scheduler.spread: is 1m1s, must be up to 1m",
		"scheduler: {store_timeout: 301s}":          "scheduler.store_timeout: is 5m1s, must be up to 5m",
		"scheduler: {store_timeout: 1ns}":           "scheduler.store_timeout: is 1ns, must be 10ms or more, or 0 for the default",
		"scheduler: {store_timeout: 10ms}":          "",
		"scheduler: {grace: 25h}":                   "scheduler.grace: is 25h0m0s, must be up to 24h",
		"scheduler: {cancel_grace: 25h}":            "scheduler.cancel_grace: is 25h0m0s, must be up to 24h",
		"scheduler: {concurrency: -2}":              "scheduler.concurrency: is -2, must be 1 or more, 0 for the default, -1 for no bound",
		"scheduler: {grace: 99999999h}":             `scheduler.grace: is "99999999h", which is too large, must be up to 2562047h`,
		"scheduler: {grace: 20}":                    "must be a duration with its unit",
		"log: {level: fatal}":                       `log.level: is "fatal", must be debug, info, warn or error`,
		"http: {address: '127.0.0.1:99999'}":        `http.address: is "127.0.0.1:99999", must be host:port with a port up to 65535`,
		"http: {address: '127.0.0.1:foo'}":          `http.address: is "127.0.0.1:foo", must be host:port`,
		"redis: {addresses: [one]}":                 `redis.addresses: has "one", must be host:port`,
		"redis: {addresses: ['one:']}":              `redis.addresses: has "one:", must be host:port`,
		"redis: {addresses: ['one:99999']}":         `redis.addresses: has "one:99999", must be host:port with a port of 1 to 65535`,
		"redis: {addresses: ['one:foo']}":           `redis.addresses: has "one:foo", must be host:port with a port of 1 to 65535`,
		"redis: {url: 'redis://one:99999'}":         "redis.url: has a port that is not 1 to 65535, must be redis://",
		"store: redis-cluster://one,two:99999":      "store: has a port that is not 1 to 65535, must be redis://",
		"redis: {db: -1}":                           "redis.db: is -1, must be 0 to 2147483646",
		"redis: {db: 2147483647}":                   "redis.db: is 2147483647, must be 0 to 2147483646",
		"redis: {addresses: ['u:p@one:1']}":         "redis.addresses: has an address with a user, must be host:port",
		"redis: {pool_size: 10000}":                 "",
		"redis: {partitions: 1024}":                 "",
		"http: {address: 'localhost:0'}":            "",
		`redis: {group_by: "\a"}`:                   `redis.group_by: is "\a", must be up to 16 bytes`,
		"redis: {group_by: /}":                      "",
		"redis: {group_by: 12345678901234567}":      `redis.group_by: is "12345678901234567", must be up to 16 bytes`,
		"scheduler: {spread: 1m, grace: 24h}":       "",
		"scheduler: {store_timeout: 5m}":            "",
		"scheduler: {cancel_grace: 24h}":            "",
		"redis: {journal_lines: 1, partitions: 32}": "",
	} {
		_, err := nodeConfig(t, "--config", file(t, "c.yaml", setting+"\njobs: [{kind: sleep, name: a, spec: '@daily'}]\n"))
		switch n := len(config.Split(err)); {
		case want == "" && err != nil, want != "" && n != 1:
			t.Errorf("%s: %d faults: %v", setting, n, err)
		case want != "" && !strings.Contains(err.Error(), want):
			t.Errorf("%s: got %v, want %s", setting, err, want)
		}
	}
	_, err := nodeConfig(t, "--config", file(t, "c.yaml", "jobs: [{kind: sleep, name: a, spec: '@daily', lease: 99999999h}]\n"))
	if err == nil || !strings.Contains(err.Error(), `jobs[0].lease: is "99999999h", which is too large`) {
		t.Error(err)
	}
}

// A fault of the namespace is reported once, even if the jobs are valid.
func TestBadNamespace(t *testing.T) {
	for _, args := range [][]string{{"--namespace", "a b"}, {"--namespace", "a:b"}, {"--namespace", strings.Repeat("n", 65)}} {
		_, err := nodeConfig(t, append(args, "--config", exampleFile)...)
		if n := len(config.Split(err)); n != 1 || !strings.Contains(err.Error(), "\n--namespace: is ") {
			t.Errorf("%q: %d faults: %v", args[1], n, err)
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	for text, want := range map[string]string{
		"jobs: [": "c.yaml:1:7: is not valid YAML: sequence end token ']' not found",
		strings.Repeat("#", strictyaml.MaxSize+1): "must be up to 1048576",
	} {
		_, err := nodeConfig(t, "--config", file(t, "c.yaml", text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "jobs: none") {
			t.Errorf("got %v, want only %s", err, want)
		}
	}
}

// No way of printing a configuration shows a password that came with a URL.
func TestConfigHidesPassword(t *testing.T) {
	t.Setenv("CRONCE_REDIS_URL", "redis://u:hunter2@h")
	c, err := nodeConfig(t, "--config", exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	o, err := config.RedisOptions(c)
	if err != nil || o.Password != "hunter2" || o.Username != "u" {
		t.Errorf("the client does not get the password: %v", err)
	}
	text, err := json.Marshal(c)
	if shown := fmt.Sprintf("%v %+v %#v %s %s", c, c, c, text, c.RedisName()); strings.Contains(shown, "hunter2") || err != nil {
		t.Error("the password is shown", err)
	}
}

// The sources of the password, and the refused ones.
func TestPasswords(t *testing.T) {
	secretFile := file(t, "password", "from-file\n")
	for name, c := range map[string]struct {
		yaml, env, want, fault string
	}{
		"default variable":            {"", "from-env", "from-env", ""},
		"named variable":              {"password_env: HOME_OF_IT", "from-env", "named", ""},
		"a line break at the end":     {"", "from-env\r\n", "from-env", ""},
		"file":                        {"password_file: " + secretFile, "from-env", "from-file", ""},
		"no such variable":            {"password_env: NOT_THERE", "", "", "redis.password_env: names a variable that is not set"},
		"no such file":                {"password_file: /nonexistent", "", "", "redis.password_file: names a file that cannot be used: no such file"},
		"an empty file":               {"password_file: " + file(t, "empty", "\n"), "", "", "redis.password_file: names a file that is empty"},
		"several lines":               {"password_file: " + file(t, "lines", "hunter2\nhunter2\n"), "", "", "redis.password_file: names a file with several lines, must have one"},
		"a device":                    {"password_file: /dev/zero", "", "", "redis.password_file: names a file that cannot be used: is a device, must be a regular file or a pipe"},
		"the secret itself, variable": {"password_env: hunter2", "", "", "redis.password_env: names a variable that is not set"},
		"the secret itself, file":     {"password_file: hunter2", "", "", "redis.password_file: names a file that cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(config.PasswordEnv, c.env)
			t.Setenv("HOME_OF_IT", "named\n")
			conf, err := nodeConfig(t, "--config", file(t, "c.yaml", "redis:\n  db: 0\n  "+c.yaml+"\njobs: [{kind: sleep, name: a, spec: '@daily'}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			o, err := config.RedisOptions(conf)
			switch {
			case c.fault == "" && (err != nil || o.Password != c.want):
				t.Errorf("got %v, want %q", err, c.want)
			case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "hunter2")):
				t.Errorf("got %v, want %s", err, c.fault)
			}
		})
	}
}

// The client gets the Sentinels of the file.
func TestSentinel(t *testing.T) {
	t.Setenv("OF_THE_SENTINELS", "sentinels'")
	t.Setenv(config.PasswordEnv, "redis's")
	c, err := nodeConfig(t, "--config", file(t, "c.yaml", `
redis:
  addresses: [one:26379, two:26379]
  master_name: m
  db: 2
  username: me
  pool_size: 7
  sentinel_username: it
  sentinel_password_env: OF_THE_SENTINELS
jobs: [{kind: sleep, name: a, spec: '@daily'}]
`))
	if err != nil {
		t.Fatal(err)
	}
	o, err := config.RedisOptions(c)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(o.Addrs, o.MasterName, o.DB, o.Username, o.Password, o.SentinelUsername, o.SentinelPassword, o.IsClusterMode, o.PoolSize)
	if want := "[one:26379 two:26379]m2meredis'sitsentinels'false7"; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TLS is on if the file or the URL requires it, never below 1.2.
func TestTLS(t *testing.T) {
	const jobs = "\njobs: [{kind: sleep, name: a, spec: '@daily'}]\n"
	for yaml, want := range map[string]bool{
		"redis: {url: 'redis://h'}":                             false,
		"redis: {url: 'rediss://h'}":                            true,
		"redis: {url: 'redis://h', tls: {enabled: true}}":       true,
		"redis: {addresses: ['h:1'], tls: {server_name: name}}": true,
	} {
		c, err := nodeConfig(t, "--config", file(t, "c.yaml", yaml+jobs))
		if err != nil {
			t.Fatal(err)
		}
		o, err := config.RedisOptions(c)
		if err != nil || (o.TLSConfig != nil) != want || want && (o.TLSConfig.MinVersion != 0x0303 || o.TLSConfig.InsecureSkipVerify ||
			want && (o.TLSConfig.ServerName == "name") != strings.Contains(yaml, "server_name")) {
			t.Errorf("%s: %v, %v", yaml, o.TLSConfig, err)
		}
	}
	none := file(t, "none.pem", "none")
	for settings, want := range map[string]string{
		"ca: " + none:                           "redis.tls.ca: names a file that has no certificate",
		"ca: /nonexistent":                      "redis.tls.ca: names a file that cannot be used",
		"cert: /nonexistent, key: " + none:      "redis.tls.cert: names a file that cannot be used",
		"cert: " + none + ", key: /nonexistent": "redis.tls.key: names a file that cannot be used",
		"cert: " + none + ", key: " + none:      "redis.tls.cert: and redis.tls.key are no pair",
	} {
		c, err := nodeConfig(t, "--config", file(t, "c.yaml", "redis: {tls: {"+settings+"}}"+jobs))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = config.RedisOptions(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", settings, err, want)
		}
	}
}

// Jobs get the settings of the file; their kind sets the others.
func TestJobsOfFile(t *testing.T) {
	c, err := nodeConfig(t, "--config", file(t, "c.yaml", `
zone: Asia/Shanghai
store: redis://h
scheduler: {concurrency: -1, spread: 1ms}
jobs:
  - {kind: http, name: a, spec: "@hourly", http: {url: "https://h/x", timeout: 3s}}
  - {kind: sleep, name: b, spec: "@daily", overlap: replace, takeover: rerun, attempts: 7, window: 2h, retry: {tries: 2, wait: 1s, max: 2s, jitter: 0.5, for: 3s}, interrupted: lost, misfire: skip, jitter: 1s, timeout: 4s, lease: 9s, replicas: 2, log: quiet}
`))
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := node.DryRun(c)
	if err != nil {
		t.Fatal(err)
	}
	if a := s.Jobs[0]; a.Name != "a" || a.Spec != "@hourly" || a.Func == nil {
		t.Errorf("got %+v", a)
	}
	got := s.Jobs[1]
	got.Func = nil
	want := scheduler.Job{Name: "b", Spec: "@daily", Overlap: scheduler.OverlapReplace, Takeover: scheduler.TakeoverRerun, Attempts: 7, Window: 2 * time.Hour,
		Retry:       scheduler.Retry{Tries: 2, Wait: time.Second, Max: 2 * time.Second, Jitter: 0.5, For: 3 * time.Second},
		Interrupted: scheduler.InterruptedLost, Misfire: scheduler.MisfireSkip, Jitter: time.Second, Timeout: 4 * time.Second, Lease: 9 * time.Second, Replicas: 2, Quiet: true}
	if !reflect.DeepEqual(got, want) || s.Zone.String() != "Asia/Shanghai" || s.Concurrency != -1 || s.Grace != 20*time.Second {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("jobs: [{kind: exec, name: b, spec: '@daily', lease: 3s, exec: {command: [a], skip: [5]}}, {kind: sleep, name: a, spec: '@daily', sleep: {for: 1s}}]\n"))
	f.Add([]byte("jobs: [{kind: http, name: a, spec: x, http: {url: ':%zz'}}]\nredis: {url: 'redis://:p@'}\n"))
	f.Add([]byte("jobs: [{kind: http, name: a, spec: '@daily', http: {url: 'https://x', headers: {A: 'b ${C}', D: '$${d}'}, body: '{{.Job}}', expect: [200]}}]\n"))
	f.Add([]byte("namespace: a b\njobs: [{kind: x}]\nops: {address: x}\n"))
	f.Add([]byte("redis:\n  addresses: [one:1, two:2]\n  cluster: true\n  tls: {cert: a}\nhttp: {address: ':1'}\nzone: x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Read(config.Source{Name: "c.yaml", Data: data}, nil, nil)
		if c == nil {
			return
		}
		_, _, jobs := node.DryRun(c)
		for _, e := range config.Split(errors.Join(err, jobs)) {
			if _, ok := errors.AsType[*strictyaml.Error](e); !ok && !strings.Contains(e.Error(), " more") {
				t.Errorf("a fault without its place: %v", e)
			}
		}
	})
}
