package settings

import (
	"errors"
	"strings"

	"github.com/cronce/cronce/cmd/internal/config"
	stockhttp "github.com/cronce/cronce/jobs/stock/http"
)

// A tokenSource names the variable and the file of a role's tokens.
type tokenSource struct {
	role                        stockhttp.Role
	path, file, env, defaultEnv string
}

// TokenEnvs are the variables of tokens if the configuration names no others.
var TokenEnvs = []string{"SHOP_BUYER_TOKEN", "SHOP_SELLER_TOKEN", "SHOP_PAYMENT_TOKEN"}

func (s *Shop) tokenSources() []tokenSource {
	return []tokenSource{
		{stockhttp.Buyer, "shop.buyer_token", s.BuyerTokenFile, s.BuyerTokenEnv, TokenEnvs[0]},
		{stockhttp.Seller, "shop.seller_token", s.SellerTokenFile, s.SellerTokenEnv, TokenEnvs[1]},
		{stockhttp.PaymentService, "shop.payment_token", s.PaymentTokenFile, s.PaymentTokenEnv, TokenEnvs[2]},
	}
}

// Tokens returns a function that returns the current tokens of a role. It returns nil if the sale is
// not served, or if no role has a token: then every caller may do everything, which is allowed
// on a loopback address alone. If one role has a token, each role must have one.
func (f *File) Tokens() (func(stockhttp.Role) []string, error) {
	if !f.Serves() {
		return nil, nil
	}
	now, first, err := f.readTokens()
	if err != nil {
		return nil, err
	}
	if len(first) == 0 && (config.HTTP{Address: f.Shop.Address}).Loopback() {
		return nil, nil
	}
	if err := f.tokenFaults(first); err != nil {
		return nil, err
	}
	return now, nil
}

// Serves reports whether the sale is served.
func (f *File) Serves() bool { return !(config.HTTP{Address: f.Shop.Address}).Off() }

// readTokens reads the tokens of each role. It returns them with a function that reads the tokens
// of files again at each call.
func (f *File) readTokens() (now func(stockhttp.Role) []string, first map[stockhttp.Role][]string, err error) {
	first = map[stockhttp.Role][]string{}
	files := map[stockhttp.Role]*config.Current[[]string]{}
	var faults []error
	for _, s := range f.Shop.tokenSources() {
		read, err := config.NewCurrent(&f.Config, func() ([]string, error) { return f.tokens(s) }, s.file)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if s.file != "" {
			files[s.role] = read
		}
		if len(read.Value()) > 0 {
			first[s.role] = read.Value()
		}
	}
	return func(role stockhttp.Role) []string {
		if file := files[role]; file != nil {
			return file.Readable() // a token that the file no longer has is refused at once
		}
		return first[role]
	}, first, errors.Join(faults...)
}

// minToken is the least length of a token; shorter ones can be guessed.
const minToken = 16

// tokens reads the tokens of a role.
func (f *File) tokens(s tokenSource) ([]string, error) {
	text, err := f.ReadSecret(s.path, s.file, s.env, s.defaultEnv)
	list := strings.Fields(text.Text())
	if err == nil && len(list) == 0 && s.file+s.env != "" { // otherwise the shop would be open although a token is configured
		return nil, f.Fault(s.path+"_env", "or the file has no token, must have one of %d characters or more", minToken)
	}
	for _, token := range list {
		if len(token) < minToken {
			return nil, f.Fault(s.path+"_env", "or the file has a token of %d characters, must be %d or more", len(token), minToken)
		}
	}
	return list, err
}

// tokenFaults refuses a role without a token, and a token of two roles.
func (f *File) tokenFaults(tokens map[stockhttp.Role][]string) error {
	var faults []error
	owner := map[string]stockhttp.Role{}
	for _, s := range f.Shop.tokenSources() {
		if len(tokens[s.role]) == 0 {
			faults = append(faults, f.Fault(s.path+"_env", "and %s_file are missing, and %s is not set: each role needs a token, unless none has one and shop.address is a loopback address",
				s.path, s.defaultEnv))
		}
		for _, token := range tokens[s.role] {
			if other, taken := owner[token]; taken && other != s.role {
				faults = append(faults, f.Fault(s.path+"_env", "or the file has a token of the %s, must be one of the role's own", other))
			}
			owner[token] = s.role
		}
	}
	return errors.Join(faults...)
}
