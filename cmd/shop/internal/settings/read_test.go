package settings

import (
	"testing"

	"github.com/cronce/cronce/cmd/internal/config"
)

// A Redis that the file names by its addresses is the store, and not the default one; the token of receipts may be in a
// file.
func TestRead(t *testing.T) {
	const text = "redis: {addresses: ['127.0.0.1:1']}\nsms: {gateway: console, receipts: {address: 'off', token_file: t}}\n"
	f, err := read(config.Source{Name: "c.yaml", Data: []byte(text), Env: func(string) (string, bool) { return "", false }})
	if err != nil || f.Redis.URL != "" {
		t.Errorf("%v, the URL is %q", err, f.Redis.URL)
	}
}
