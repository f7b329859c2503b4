package config

import (
	"net/netip"

	"github.com/cronce/cronce/internal/outbound"
)

// OpsHeartbeat has the receiver of heartbeats.
type OpsHeartbeat struct {
	URL          string `yaml:"url"`
	AllowPrivate bool   `yaml:"allow_private"`
}

// OpsWebhook has the receiver of episodes.
type OpsWebhook struct {
	URL          string `yaml:"url"`
	SecretEnv    string `yaml:"secret_env"`
	SecretFile   string `yaml:"secret_file"`
	AllowPrivate bool   `yaml:"allow_private"`
}

const minWebhookSecret = 16 // characters

// notifyFaults checks the URLs that contain no variable. The environment of a node need not have
// the variables of the plane.
func (c *Config) notifyFaults(bad func(path, format string, args ...any)) {
	check := func(path, raw string, private bool) {
		if HasVariable(raw) {
			return
		}
		if fault, allowed := notifyFault(raw, private); fault != "" {
			bad(path, "is %s, must be %s", fault, allowed)
		}
	}
	if h := c.Ops.Heartbeat; h != nil {
		check("ops.heartbeat.url", h.URL, h.AllowPrivate)
	}
	if w := c.Ops.Webhook; w != nil {
		check("ops.webhook.url", w.URL, w.AllowPrivate)
	}
}

// notifyFault returns the fault of a URL, and the URLs that are allowed. It does not repeat the URL.
func notifyFault(raw string, private bool) (fault, allowed string) {
	if raw == "" {
		return "missing", outbound.AllowedURL
	}
	u, fault := outbound.ParseURL(raw)
	if fault != "" || private {
		return fault, outbound.AllowedURL
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !outbound.Public(ip) {
		return "one with the address " + ip.String(), "one with a public address, unless allow_private is true beside it"
	}
	return "", ""
}

// OpsHeartbeatURL returns the URL of the heartbeat with the values of its variables.
func (c *Config) OpsHeartbeatURL() (string, error) {
	return c.notifyURL("ops.heartbeat.url", c.Ops.Heartbeat.URL, c.Ops.Heartbeat.AllowPrivate)
}

// OpsWebhookURL returns the URL of the webhook with the values of its variables.
func (c *Config) OpsWebhookURL() (string, error) {
	return c.notifyURL("ops.webhook.url", c.Ops.Webhook.URL, c.Ops.Webhook.AllowPrivate)
}

func (c *Config) notifyURL(path, raw string, private bool) (string, error) {
	url, values, err := c.ExpandNonempty(path, raw, false)
	if err != nil {
		return "", err
	}
	if fault, allowed := notifyFault(url, private); fault != "" {
		return "", c.Fault(path, "is %s, must be %s", fault, allowed)
	}
	if TokenInURL(raw, values) {
		err = c.TokenInPlain(path, url)
	}
	return url, err
}

// OpsWebhookSecret returns a function that returns the key that signs the requests of the webhook;
// empty: they are not signed. It reads a file again when it changes.
func (c *Config) OpsWebhookSecret() (func() Secret, error) {
	w := c.Ops.Webhook
	secret, err := c.SecretSource("ops.webhook.secret", w.SecretFile, w.SecretEnv)
	if err != nil {
		return nil, err
	}
	source := "ops.webhook.secret_env"
	if w.SecretFile != "" {
		source = "ops.webhook.secret_file"
	}
	if n := len(secret().Text()); n < minWebhookSecret && w.SecretFile+w.SecretEnv != "" {
		return nil, c.Fault(source, "names a secret of %d characters, must have %d or more", n, minWebhookSecret)
	}
	return secret, nil
}
