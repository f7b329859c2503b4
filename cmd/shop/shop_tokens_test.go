package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// Where other machines can reach a shop each role needs a token; on the loopback address all
// or none. The error names the setting, and repeats no token.
func TestShopTokens(t *testing.T) {
	const buyer, seller, payment = "SHOP_BUYER_TOKEN", "SHOP_SELLER_TOKEN", "SHOP_PAYMENT_TOKEN"
	const a, b, c = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc"
	for _, test := range []struct {
		name, yaml string
		env        map[string]string
		want       string
	}{
		{"beyond loopback", "{address: '0.0.0.0:0', allow_remote: true}", nil, "shop.buyer_token_env: and shop.buyer_token_file are missing, and SHOP_BUYER_TOKEN is not set"},
		{"a role without", "{address: '127.0.0.1:0'}", map[string]string{buyer: a, seller: b}, "shop.payment_token_env: and shop.payment_token_file are missing"},
		{"a short one", "{address: '127.0.0.1:0'}", map[string]string{buyer: a + " short", seller: b, payment: c}, "a token of 5 characters, must be 16 or more"},
		{"the same", "{address: '127.0.0.1:0'}", map[string]string{buyer: a, seller: b + " " + a, payment: c}, "shop.seller_token_env: or the file has a token of the buyer"},
		{"not set", "{address: '127.0.0.1:0', buyer_token_env: NOT_SET_HERE}", nil, "shop.buyer_token_env: names a variable that is not set"},
		{"both", "{address: '127.0.0.1:0', buyer_token_env: X, buyer_token_file: y}", nil, "shop.buyer_token_env: and shop.buyer_token_file are both set"},
		{"none in the variable", "{address: '127.0.0.1:0', buyer_token_env: BLANK_TOKEN}", map[string]string{"BLANK_TOKEN": " \t "}, "shop.buyer_token_env: or the file has no token"},
		{"no file", "{address: '127.0.0.1:0', seller_token_file: /nowhere/at/all}", nil, "shop.seller_token_file: names a file that cannot be used"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			r := call(t, "serve", "--config", file(t, "c.yaml", "shop: "+strings.TrimSuffix(test.yaml, "}")+", database: {file: "+filepath.Join(t.TempDir(), "shop.db")+"}}"),
				"--redis", "redis://127.0.0.1:1", "--http", "off")
			r.want(t, exit.WrongUsage, test.want)
			for _, value := range test.env {
				if strings.Contains(r.stdout+r.stderr, value) {
					t.Errorf("the token is shown: %s", r.stderr)
				}
			}
		})
	}
}

// A token in a file counts from when it is written there, without a restart. Without tokens a
// shop on the loopback address is open, and logs that once.
func TestShopTokenFile(t *testing.T) {
	t.Parallel()
	store := miniredis.RunT(t)
	dir := t.TempDir()
	write := func(role, tokens string) string {
		name := filepath.Join(dir, role)
		if err := os.WriteFile(name+"~", []byte(tokens+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+"~", name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const first, second = "seller-token-one-1", "seller-token-two-2"
	config := fmt.Sprintf("shop: {timeout: 5s, database: {file: %s}, buyer_token_file: %s, seller_token_file: %s, payment_token_file: %s}", filepath.Join(dir, "shop.db"),
		write("buyer", "buyer-token-buyer"), write("seller", first+" "+first), write("payment", "payment-token-pay"))
	c, url := startShop(t, "redis://"+store.Addr(), filepath.Join(dir, "other.db"), "--config", file(t, "tokens.yaml", config))
	var status func(token string) int
	status = func(token string) int {
		r, err := http.NewRequestWithContext(t.Context(), "PUT", url+"/products/tea/stock", strings.NewReader(`{"total":5}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusServiceUnavailable { // in doubt, since the store was slow
			return status(token)
		}
		return answer.StatusCode
	}
	for _, now := range []struct {
		tokens                string
		one, two, buyer, none int
	}{
		{first, 200, 401, 403, 401}, {first + " " + second, 200, 200, 403, 401}, {second, 401, 200, 403, 401}, {"short", 401, 401, 403, 401},
		{second + " buyer-token-buyer", 401, 200, 401, 401}, {second, 401, 200, 403, 401},
	} {
		write("seller", now.tokens)
		if one, two, buyer, none := status(first), status(second), status("buyer-token-buyer"), status(""); one != now.one || two != now.two || buyer != now.buyer || none != now.none {
			t.Errorf("with %q: %d, %d, buyer %d, none %d, want %+v", now.tokens, one, two, buyer, none, now)
		}
	}
	if open := c.logs("shop open"); len(open) > 0 || strings.Contains(c.stderr.String(), first) {
		t.Errorf("the log has %v: %s", open, c.stderr.String())
	}
	free, _ := startShop(t, "redis://"+miniredis.RunT(t).Addr(), filepath.Join(dir, "free.db"))
	if open := free.logs("shop open"); len(open) != 1 {
		t.Errorf("without tokens the log has %v", open)
	}
}
