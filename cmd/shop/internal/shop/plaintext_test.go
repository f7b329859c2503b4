package shop

import (
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
)

// A secret that would be sent to another machine without TLS is warned of, an error
// in strict mode, and fine where the configuration says so.
func TestPlaintext(t *testing.T) {
	gateway := func(url string) func(f *settings.File) error {
		return func(f *settings.File) error {
			f.SMS = &settings.SMS{Gateway: "http", URL: url, TokenEnv: "A_TOKEN"}
			_, err := smsGateway(f, io.Discard)
			return err
		}
	}
	database := func(dsn string) func(f *settings.File) error {
		return func(f *settings.File) error {
			t.Setenv(settings.DSNEnv, dsn)
			db, _, err := openDatabase(f, true)
			if err == nil {
				err = db.Close()
			}
			return err
		}
	}
	t.Setenv("A_TOKEN", "x")
	t.Setenv("PGSSLMODE", "")
	for name, c := range map[string]struct {
		do   func(f *settings.File) error
		warn string // the path; empty: nothing is wrong
	}{
		"gateway":           {gateway("http://h/x"), "sms.url"},
		"gateway, TLS":      {gateway("https://h/x"), ""},
		"gateway here":      {gateway("http://localhost:1/x"), ""},
		"postgres":          {database("postgres://u:p@h/d"), "shop.database"},
		"postgres, prefer":  {database("postgres://u:p@h/d?sslmode=prefer"), "shop.database"},
		"postgres, disable": {database("postgres://u:p@h/d?sslmode=disable"), "shop.database"},
		"postgres, require": {database("postgres://u:p@h/d?sslmode=require"), ""},
		"postgres here":     {database("postgres://u:p@127.0.0.1/d"), ""},
		"mysql":             {database("mysql://u:p@h/d"), "shop.database"},
		"mysql, preferred":  {database("mysql://u:p@h/d?tls=preferred"), "shop.database"},
		"mysql, TLS":        {database("mysql://u:p@h/d?tls=true"), ""},
		"mysql here":        {database("mysql://u:p@127.0.0.1/d"), ""},
	} {
		for mode, want := range map[string]string{"": "warns", "allow": "fine", "refuse": "refuses", "strict": "refuses"} {
			f := &settings.File{Config: *config.Default(os.LookupEnv)}
			f.Plaintext = mode
			if mode == "strict" {
				f.Plaintext, f.Redis.Strict = "", true
			}
			var warned []string
			f.OnPlaintext(func(path, _ string) { warned = append(warned, path) })
			err := c.do(f)
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
