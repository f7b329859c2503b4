package node

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/cronce/cronce/cmd/cronce/internal/clients"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
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
			_, err = c.RedisOptions()
			return err
		}
	}
	gateway := func(url string) func(c *config.Config) error {
		return func(c *config.Config) error {
			_, err := smsGateway(c, "jobs[0].sms", &config.SMS{Gateway: "http", URL: url, TokenEnv: "A_TOKEN"}, resources{})
			return err
		}
	}
	database := func(dsn string) func(c *config.Config) error {
		return func(c *config.Config) error {
			t.Setenv(config.DSNEnv, dsn)
			c.Shop = &config.Shop{}
			db, _, err := clients.Database(c, false)
			if err == nil {
				err = db.Close()
			}
			return err
		}
	}
	t.Setenv("A_TOKEN", "x")
	t.Setenv(config.PasswordEnv, "hunter2")
	t.Setenv("PGSSLMODE", "")
	for name, c := range map[string]struct {
		do   func(c *config.Config) error
		warn string // the path; empty: no warning
	}{
		"redis":               {redisAt("redis://h"), "redis.tls"},
		"rediss":              {redisAt("rediss://h"), ""},
		"redis here":          {redisAt("redis://127.0.0.1"), ""},
		"gateway":             {gateway("http://h/x"), "jobs[0].sms.url"},
		"gateway, TLS":        {gateway("https://h/x"), ""},
		"gateway here":        {gateway("http://localhost:1/x"), ""},
		"postgres":            {database("postgres://u:p@h/d"), "shop.database"},
		"postgres, prefer":    {database("postgres://u:p@h/d?sslmode=prefer"), "shop.database"},
		"postgres, disable":   {database("postgres://u:p@h/d?sslmode=disable"), "shop.database"},
		"postgres, require":   {database("postgres://u:p@h/d?sslmode=require"), ""},
		"postgres here":       {database("postgres://u:p@127.0.0.1/d"), ""},
		"mysql":               {database("mysql://u:p@h/d"), "shop.database"},
		"mysql, its own form": {database("u:p@tcp(h:1)/d"), "shop.database"},
		"mysql, preferred":    {database("mysql://u:p@h/d?tls=preferred"), "shop.database"},
		"mysql, TLS":          {database("mysql://u:p@h/d?tls=true"), ""},
		"mysql here":          {database("mysql://u:p@127.0.0.1/d"), ""},
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
