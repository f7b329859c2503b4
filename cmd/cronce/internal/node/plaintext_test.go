package node

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/cronce/cronce/cmd/internal/config"
)

// A secret that would be sent to another machine without TLS causes a warning, an error in strict
// mode, and nothing if the configuration allows it.
func TestPlaintext(t *testing.T) {
	redisAt := func(url string) func(c *config.Config) error {
		return func(c *config.Config) error {
			c, err := config.Read(config.Source{}, nil, func(read *config.Config) {
				*read = *c
				read.Redis.URL = url
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = config.RedisOptions(c)
			return err
		}
	}
	t.Setenv(config.PasswordEnv, "hunter2")
	for name, c := range map[string]struct {
		do   func(c *config.Config) error
		warn string // the path; empty: no warning
	}{
		"redis":      {redisAt("redis://h"), "redis.tls"},
		"rediss":     {redisAt("rediss://h"), ""},
		"redis here": {redisAt("redis://127.0.0.1"), ""},
	} {
		for mode, want := range map[string]string{"": "warns", "allow": "fine", "refuse": "refuses", "strict": "refuses"} {
			conf := config.Default(os.LookupEnv)
			conf.Plaintext = mode
			if mode == "strict" {
				conf.Plaintext, conf.Redis.Strict = "", true
			}
			var warned []string
			conf.OnPlaintext(func(path, _ string) { warned = append(warned, path) })
			err := c.do(conf)
			got := "fine"
			switch {
			case err != nil:
				got = "refuses"
			case slices.Equal(warned, []string{c.warn}):
				got = "warns"
			case len(warned) > 0:
				got = fmt.Sprint(warned)
			}
			if c.warn == "" {
				want = "fine"
			}
			if got != want {
				t.Errorf("%s, %q: %s, want %s (%v)", name, mode, got, want, err)
			}
		}
	}
}
