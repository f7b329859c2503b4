package main

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/config"
)

// Each pair of contradicting settings is refused, with the field, its value and the allowed ones.
// Pairs that agree, or with one unset setting, are accepted.
func TestPairs(t *testing.T) {
	const sleep = "jobs: [{kind: sleep, name: a, spec: '@daily'}]\n"
	for _, c := range []struct{ name, yaml, want string }{
		{"url and addresses", "redis: {url: 'redis://h', addresses: ['h:1']}", "redis.url: and redis.addresses are both set, give one of them"},
		{"url and db", "redis: {url: 'redis://h/1', db: 2}", "redis.db: is 2, but redis.url names the database 1, give one of them"},
		{"url and db, 0 in the URL", "redis: {url: 'redis://h/0', db: 2}", "redis.db: is 2, but redis.url names the database 0"},
		{"url and db, 0 alone", "redis: {url: 'redis://h/2', db: 0}", "redis.db: is 0, but redis.url names the database 2"},
		{"url and db, equal", "redis: {url: 'redis://h/2', db: 2}", ""},
		{"url without a database, and db", "redis: {url: 'redis://h/', db: 2}", ""},
		{"url with a database, and db left empty", "redis: {url: 'redis://h/2', db: }", ""},
		{"cluster and db", "redis: {addresses: ['h:1'], cluster: true, db: 2}", "redis.db: names the database 2, must be 0 in a Cluster"},
		{"cluster and the URL's database", "redis: {url: 'redis://h/2', cluster: true}", "redis.url: names the database 2, must be 0 in a Cluster"},
		{"cluster and database 0", "redis: {url: 'redis://h/0', cluster: true, db: 0}", ""},
		{"cluster and master_name", "redis: {addresses: ['h:1'], cluster: true, master_name: m}", "redis.cluster: and redis.master_name are both set, give one of them"},
		{"url and master_name", "redis: {url: 'redis://h', master_name: m}", "redis.master_name: is set, but no addresses of Sentinels are: set redis.addresses"},
		{"several addresses", "redis: {addresses: ['h:1', 'h:2']}", "redis.addresses: are several: set redis.master_name for Sentinel, or redis.cluster to true"},
		{"several addresses, cluster false", "redis: {addresses: ['h:1', 'h:2'], cluster: false}", "redis.addresses: are several"},
		{"url and username", "redis: {url: 'redis://one@h', username: two}", "redis.username: is another user than redis.url names, give one of them"},
		{"url and username, equal", "redis: {url: 'redis://one@h', username: one}", ""},
		{"sentinel_username without master_name", "redis: {addresses: ['h:1'], sentinel_username: x}", "redis.master_name: is missing, but a user or password of Sentinels is set"},
		{"sentinel_password_env without master_name", "redis: {url: 'redis://h', sentinel_password_env: X}", "redis.master_name: is missing"},
		{"sentinel_password_file without master_name", "redis: {sentinel_password_file: x}", "redis.master_name: is missing"},
		{"rediss and tls.enabled", "redis: {url: 'rediss://h', tls: {enabled: false}}", "redis.tls.enabled: is false, but redis.url is rediss://"},
		{"rediss and tls", "redis: {url: 'rediss://h', tls: {server_name: x}}", ""},
		{"tls.enabled and ca", "redis: {tls: {enabled: false, ca: a}}", "redis.tls.enabled: is false, but redis.tls has settings of TLS: set it to true, or leave them out"},
		{"tls.enabled and server_name", "redis: {tls: {enabled: false, server_name: a}}", "redis.tls.enabled: is false"},
		{"tls.enabled and cert", "redis: {tls: {enabled: false, cert: a, key: b}}", "redis.tls.enabled: is false"},
		{"tls.enabled alone", "redis: {tls: {enabled: false}}", ""},
		{"cert without key", "redis: {tls: {cert: a}}", "redis.tls: has a cert without its key"},
		{"key without cert", "redis: {tls: {key: a}}", "redis.tls: has a cert without its key, or a key without its cert"},

		{"two passwords", "redis: {password_env: A, password_file: b}", "redis.password_env: and redis.password_file are both set, give one of them"},
		{"two passwords of Sentinels", "redis: {addresses: ['h:1'], master_name: m, sentinel_password_env: A, sentinel_password_file: b}", "redis.sentinel_password_env: and redis.sentinel_password_file are both set"},
		{"kind and settings", "jobs: [{kind: sleep, name: a, spec: '@daily', exec: {shell: x}}]", "jobs[0].exec: are settings of kind exec"},
		{"address and allow_remote", "http: {address: '0.0.0.0:1'}", "http.address: is \"0.0.0.0:1\", which other machines can reach"},
	} {
		t.Run(c.name, func(t *testing.T) {
			yaml := c.yaml + "\n"
			if !strings.HasPrefix(yaml, "jobs:") {
				yaml += sleep
			}
			_, err := nodeConfig(t, "--config", file(t, "c.yaml", yaml))
			faults := config.Split(err)
			switch {
			case c.want == "" && err != nil, c.want != "" && len(faults) != 1:
				t.Errorf("%d faults: %v", len(faults), err)
			case c.want != "" && !strings.Contains(err.Error(), c.want):
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// A URL of the environment, or of the flag, replaces the settings that it contains; the others stay
// as in the file.
func TestPairsWithURL(t *testing.T) {
	const file1 = "redis: {addresses: ['a:1', 'a:2'], master_name: m, db: 2, username: me, sentinel_username: it, tls: {enabled: false}}\n"
	t.Setenv(config.PasswordEnv, "secret")
	for url, want := range map[string]struct {
		db   int
		user string
		tls  bool
	}{
		"redis://h": {2, "me", false}, "redis://h/0": {0, "me", false}, "redis://h/3": {3, "me", false},
		"redis://you@h": {2, "you", false}, "rediss://h": {2, "me", true},
	} {
		c, err := nodeConfig(t, "--redis", url, "--config", file(t, "c.yaml", file1+"jobs: [{kind: sleep, name: a, spec: '@daily'}]\n"))
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		o, err := config.RedisOptions(c)
		if err != nil || o.DB != want.db || o.Username != want.user || (o.TLSConfig != nil) != want.tls || len(o.Addrs) != 1 || o.MasterName != "" {
			t.Errorf("%s: %v, database %d, user %q, TLS %v, want %+v", url, err, o.DB, o.Username, o.TLSConfig != nil, want)
		}
	}
}

// A user without a password, and a second password, would have no effect.
func TestUsers(t *testing.T) {
	for _, c := range []struct{ name, yaml, url, password, want string }{
		{"username without a password", "redis: {username: me}", "", "", "redis.username: names a user without a password"},
		{"a user in the URL without a password", "redis: {url: 'redis://me@h'}", "", "", "redis.url: names a user without a password"},
		{"a user of Sentinels without a password", "redis: {addresses: ['h:1'], master_name: m, sentinel_username: it}", "", "", "redis.sentinel_username: names a user without a password"},
		{"two passwords of the environment", "", "redis://:one@h", "two", "CRONCE_REDIS_URL: has another password than $CRONCE_REDIS_PASSWORD, give one of them"},
		{"the same password twice", "", "redis://:one@h", "one", ""},
		{"a user with a password", "redis: {username: me}", "", "one", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CRONCE_REDIS_URL", c.url)
			t.Setenv(config.PasswordEnv, c.password)
			conf, err := nodeConfig(t, "--config", file(t, "c.yaml", c.yaml+"\njobs: [{kind: sleep, name: a, spec: '@daily'}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = config.RedisOptions(conf)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
