package config

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/ops/access"
)

// Ops has the address at which the plane is served, and its callers.
type Ops struct {
	Address        string   `yaml:"address"`
	AllowRemote    bool     `yaml:"allow_remote"`
	BehindProxy    bool     `yaml:"behind_proxy"`
	Hosts          []string `yaml:"hosts"`
	TokensFile     string   `yaml:"tokens_file"`
	SessionKeyFile string   `yaml:"session_key_file"`
	TLS            OpsTLS   `yaml:"tls"`

	Heartbeat *OpsHeartbeat `yaml:"heartbeat"`
	Webhook   *OpsWebhook   `yaml:"webhook"`
}

// OpsTLS has the names of the files of a certificate and its key.
type OpsTLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// opsFaults checks the section: nothing is served without tokens, nor to other machines without
// TLS.
func (c *Config) opsFaults(bad func(path, format string, args ...any)) {
	o := c.Ops
	if o == nil {
		return
	}
	if o.Address == "" {
		bad("ops.address", "is missing, must be host:port, such as 127.0.0.1:8090, or off")
	}
	c.notifyFaults(bad)
	at := HTTP{Address: o.Address, AllowRemote: o.AllowRemote}
	c.ListenFaults(bad, "ops", at)
	if at.Off() {
		return
	}
	if o.TokensFile == "" {
		bad("ops.tokens_file", "is missing: the plane is served only to callers with a token; cronce ops token new makes one")
	}
	if (o.TLS.Cert == "") != (o.TLS.Key == "") {
		bad("ops.tls", "has a cert without its key, or a key without its cert")
	}
	if !at.Loopback() && o.TLS.Cert == "" && !o.BehindProxy {
		bad("ops.tls", "is missing: other machines can reach the address, and tokens would be sent in plain text; or set ops.behind_proxy, if TLS ends there")
	}
	for i, host := range o.Hosts {
		if host == "" || strings.ContainsAny(host, ":/@ []*") {
			bad(fmt.Sprintf("ops.hosts[%d]", i), "is %s, must be a name without a port", strictyaml.Quote(host))
		}
	}
}

// OpsTokens returns a function that returns the tokens that are in the file now. While the file is
// missing there are none, and a line that cannot be read is no token.
func (c *Config) OpsTokens() (func() []access.Token, error) {
	file := c.Ops.TokensFile
	now, err := NewCurrent(c, func() ([]access.Token, error) {
		text, err := boundedfile.Read(file, maxSecret)
		if err != nil {
			return nil, c.Fault("ops.tokens_file", "names a file that cannot be used: %v", err)
		}
		tokens, err := access.ParseTokens(string(text))
		if err != nil {
			return tokens, c.Fault("ops.tokens_file", "%v", err)
		}
		return tokens, nil
	}, file)
	return now.Readable, err
}

// OpsSessionKey returns the key that signs sessions; empty: each process makes one.
func (c *Config) OpsSessionKey() ([]byte, error) {
	if c.Ops.SessionKeyFile == "" {
		return nil, nil
	}
	key, err := c.SecretFile("ops.session_key_file", c.Ops.SessionKeyFile)
	if err == nil && len(key.Text()) < 32 {
		err = c.Fault("ops.session_key_file", "names a file with %d characters, must have 32 or more", len(key.Text()))
	}
	return []byte(key.Text()), err
}
