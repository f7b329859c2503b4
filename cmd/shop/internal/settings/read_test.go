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

// An empty address serves no sale, whether a file or a flag says so, as an empty http.address does. Without one the default is served.
func TestReadEmptyAddress(t *testing.T) {
	t.Parallel()
	const redis = "redis: {url: 'redis://127.0.0.1:1'}\n"
	empty := func(name string) (string, bool) { return "", name == "address" }
	for _, row := range []struct {
		text   string
		flag   func(string) (string, bool)
		serves bool
	}{
		{redis, nil, true},
		{redis + "shop: {}\n", nil, true},
		{redis + "shop: {address: ''}\n", nil, false},
		{redis, empty, false},
	} {
		f, err := read(config.Source{Name: "c.yaml", Data: []byte(row.text), Env: func(string) (string, bool) { return "", false }, Flag: row.flag})
		if err != nil || f.Serves() != row.serves {
			t.Errorf("%q, with the flag %t: serves is %t, %v", row.text, row.flag != nil, f.Serves(), err)
		}
	}
}
