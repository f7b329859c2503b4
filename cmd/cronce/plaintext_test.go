package main

import (
	"fmt"
	"slices"
	"testing"
)

func TestRemote(t *testing.T) {
	for address, want := range map[string]bool{
		"": false, "localhost:6379": false, "LOCALHOST": false, "127.0.0.1:1": false, "127.9.9.9": false, "[::1]:7": false, "::1": false, "/run/pg": false,
		"h": true, "h:1": true, "10.0.0.1:1": true, "[fe80::1]:1": true, "0.0.0.0:1": true, "localhost.evil.example": true,
	} {
		if remote(address) != want {
			t.Errorf("%q", address)
		}
	}
}

// A secret that would be sent to another machine without TLS is warned of, an error
// in strict mode, and fine where the configuration says so.
func TestPlaintext(t *testing.T) {
	redisAt := func(url string) func(c *config) error {
		return func(c *config) error {
			c.Redis.URL = url
			for _, err := range c.faults() {
				t.Fatal(err)
			}
			_, err := c.redisOptions()
			return err
		}
	}
	gateway := func(url string) func(c *config) error {
		return func(c *config) error {
			_, err := c.gateway("jobs[0].sms", &smsConfig{Gateway: "http", URL: url, TokenEnv: "A_TOKEN"}, parts{})
			return err
		}
	}
	database := func(dsn string) func(c *config) error {
		return func(c *config) error {
			t.Setenv(defaultDSNEnv, dsn)
			c.Shop = &shopConfig{}
			db, _, err := c.openDatabase(false)
			if err == nil {
				err = db.Close()
			}
			return err
		}
	}
	t.Setenv("A_TOKEN", "x")
	t.Setenv(defaultPasswordEnv, "hunter2")
	t.Setenv("PGSSLMODE", "")
	for name, c := range map[string]struct {
		do   func(c *config) error
		warn string // the path; empty: nothing is wrong
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
		for mode, want := range map[string]string{"": "warns", plaintextAllow: "fine", plaintextRefuse: "refuses", "strict": "refuses"} {
			conf := defaultConfig()
			conf.Plaintext = mode
			if mode == "strict" {
				conf.Plaintext, conf.Redis.Strict = "", true
			}
			var warned []string
			conf.warn = func(path, _ string) { warned = append(warned, path) }
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
