package config

import (
	"errors"
	"strings"

	stockhttp "github.com/cronce/cronce/jobs/stock/http"
)

// A tokenSource names the variable and the file of a role's tokens.
type tokenSource struct {
	role stockhttp.Role
	secretSource
	defaultEnv string
}

// ShopTokenEnvs are the variables of tokens if the configuration names no others.
var ShopTokenEnvs = []string{"CRONCE_SHOP_BUYER_TOKEN", "CRONCE_SHOP_SELLER_TOKEN", "CRONCE_SHOP_PAYMENT_TOKEN"}

func (s *Shop) tokenSources() []tokenSource {
	return []tokenSource{
		{stockhttp.Buyer, secretSource{"shop.buyer_token", s.BuyerTokenFile, s.BuyerTokenEnv}, ShopTokenEnvs[0]},
		{stockhttp.Seller, secretSource{"shop.seller_token", s.SellerTokenFile, s.SellerTokenEnv}, ShopTokenEnvs[1]},
		{stockhttp.PaymentService, secretSource{"shop.payment_token", s.PaymentTokenFile, s.PaymentTokenEnv}, ShopTokenEnvs[2]},
	}
}

// ShopTokens returns a function that returns the current tokens of a role. It returns nil if no
// shop is served, or if no role has a token: then every caller may do everything, which is allowed
// on a loopback address alone. If one role has a token, each role must have one.
func (c *Config) ShopTokens() (func(stockhttp.Role) []string, error) {
	if !c.ServesShop() {
		return nil, nil
	}
	now, first, err := c.readTokens()
	if err != nil {
		return nil, err
	}
	if len(first) == 0 && (HTTP{Address: c.Shop.Address}).loopback() {
		return nil, nil
	}
	if err := c.tokenFaults(first); err != nil {
		return nil, err
	}
	return now, nil
}

// ServesShop reports whether the configuration serves a shop.
func (c *Config) ServesShop() bool {
	return c.Shop != nil && !(HTTP{Address: c.Shop.Address}).Off()
}

// readTokens reads the tokens of each role. It returns them with a function that reads the tokens
// of files again at each call.
func (c *Config) readTokens() (now func(stockhttp.Role) []string, first map[stockhttp.Role][]string, err error) {
	first = map[stockhttp.Role][]string{}
	files := map[stockhttp.Role]*current[[]string]{}
	var faults []error
	for _, s := range c.Shop.tokenSources() {
		read, err := newCurrent(c.stale, func() ([]string, error) { return c.tokens(s) }, s.file)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if s.file != "" {
			files[s.role] = read
		}
		if len(read.last) > 0 {
			first[s.role] = read.last
		}
	}
	return func(role stockhttp.Role) []string {
		if file := files[role]; file != nil {
			return file.value()
		}
		return first[role]
	}, first, errors.Join(faults...)
}

// minToken is the least length of a token; shorter ones can be guessed.
const minToken = 16

// tokens reads the tokens of a role.
func (c *Config) tokens(s tokenSource) ([]string, error) {
	text, err := c.readSecret(s.path, s.file, s.env, s.defaultEnv)
	list := strings.Fields(text.Text())
	if err == nil && len(list) == 0 && s.file+s.env != "" { // otherwise the shop would be open although a token is configured
		return nil, c.Fault(s.path+"_env", "or the file has no token, must have one of %d characters or more", minToken)
	}
	for _, token := range list {
		if len(token) < minToken {
			return nil, c.Fault(s.path+"_env", "or the file has a token of %d characters, must be %d or more", len(token), minToken)
		}
	}
	return list, err
}

// tokenFaults refuses a role without a token, and a token of two roles.
func (c *Config) tokenFaults(tokens map[stockhttp.Role][]string) error {
	var faults []error
	owner := map[string]stockhttp.Role{}
	for _, s := range c.Shop.tokenSources() {
		if len(tokens[s.role]) == 0 {
			faults = append(faults, c.Fault(s.path+"_env", "and %s_file are missing, and %s is not set: each role needs a token, unless none has one and shop.address is a loopback address",
				s.path, s.defaultEnv))
		}
		for _, token := range tokens[s.role] {
			if other, taken := owner[token]; taken && other != s.role {
				faults = append(faults, c.Fault(s.path+"_env", "or the file has a token of the %s, must be one of the role's own", other))
			}
			owner[token] = s.role
		}
	}
	return errors.Join(faults...)
}
