package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRemote(t *testing.T) {
	for address, want := range map[string]bool{
		"": false, "localhost:6379": false, "LOCALHOST": false, "127.0.0.1:1": false, "127.9.9.9": false, "[::1]:7": false, "::1": false, "/run/pg": false, "@pg": false,
		"h": true, "h:1": true, "10.0.0.1:1": true, "[fe80::1]:1": true, "0.0.0.0:1": true, "localhost.evil.example": true,
	} {
		if remote(address) != want {
			t.Errorf("%q", address)
		}
	}
}

// A password for a Redis or for Sentinels on another machine does not travel without TLS. The password
// of the URL is used in place of the one in the file.
func TestRedisInPlain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		redis, password, url string
		plain                bool
	}{
		{"url: 'redis://h'", "", "", false},
		{"url: 'redis://h'", "hunter2", "", true},
		{"url: 'redis://h', password_file: " + file, "", "", true},
		{"addresses: ['localhost:1']", "hunter2", "", false},
		{"addresses: ['localhost:1', 'h:1'], cluster: true", "hunter2", "", true},
		{"addresses: ['h:1'], tls: {enabled: true}", "hunter2", "", false},
		{"addresses: ['h:1'], master_name: m, sentinel_password_env: S", "", "", true},
		{"addresses: ['h:1'], master_name: m, sentinel_password_env: S, tls: {server_name: h}", "", "", false},
		{"password_file: " + file, "", "rediss://:one@h", false},
	} {
		conf := Default(func(name string) (string, bool) {
			value, ok := map[string]string{PasswordEnv: c.password, redisURLEnv: c.url, "S": "hunter2"}[name]
			return value, ok
		})
		_, err := ReadInto(conf, conf, Source{Name: "c.yaml", Data: []byte("plaintext: refuse\nredis: {" + c.redis + "}\n")}, StoreOverrides, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := RedisOptions(conf)
		if (err != nil) != c.plain {
			t.Errorf("%s: %v, in plain text: %v", c.redis, err, c.plain)
		}
		if c.url != "" && (o.Password != "one" || o.CredentialsProvider != nil) {
			t.Errorf("%s: the password of the URL is not used", c.redis)
		}
	}
}
