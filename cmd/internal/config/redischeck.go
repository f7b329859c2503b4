package config

import (
	"math"
	"net"
	"strings"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// redisFaults checks the addresses of the Redis.
func (c *Config) redisFaults(bad func(path, format string, args ...any)) {
	r := &c.Redis
	if r.URL == "" && len(r.Addresses) == 0 {
		r.URL = DefaultRedis
	}
	if r.URL != "" && len(r.Addresses) > 0 {
		bad("redis.url", "and redis.addresses are both set, give one of them")
	}
	if r.URL != "" {
		c.urlFaults(bad)
	}
	for _, address := range r.Addresses {
		switch _, port, _ := net.SplitHostPort(address); {
		case strings.Contains(address, "@"): // the part before it may be a password
			bad("redis.addresses", "has an address with a user, must be host:port")
		case !isServerPort(port):
			bad("redis.addresses", "has %s, must be host:port with a port of 1 to 65535", strictyaml.Quote(address))
		}
	}
	c.topologyFaults(bad)
}

// urlFaults refuses a password in redis.url, except in the environment, where it is as protected as
// in a variable of its own. The configuration keeps the URL without its password.
func (c *Config) urlFaults(bad func(path, format string, args ...any)) {
	e, err := parseRedisURL(c.Redis.URL)
	switch {
	case err != nil:
		bad("redis.url", "%v", err)
	case e.hasPassword() && c.origin["redis.url"] != redisURLEnv:
		bad("redis.url", "has a password, which may not stand here: set $%s, redis.password_env or redis.password_file", PasswordEnv)
	}
	if user := c.Redis.Username; e.username != "" && user != "" && user != e.username {
		bad("redis.username", "is another user than redis.url names, give one of them")
	}
	c.endpoint, c.Redis.URL = e, e.forFlag()
}

func (c *Config) topologyFaults(bad func(path, format string, args ...any)) {
	r := &c.Redis
	switch {
	case r.MasterName != "" && r.Cluster:
		bad("redis.cluster", "and redis.master_name are both set, give one of them")
	case r.MasterName != "" && len(r.Addresses) == 0:
		bad("redis.master_name", "is set, but no addresses of Sentinels are: set redis.addresses")
	case len(r.Addresses) > 1 && r.MasterName == "" && !r.Cluster:
		bad("redis.addresses", "are several: set redis.master_name for Sentinel, or redis.cluster to true")
	}
	if replaced := c.embedded || c.origin["redis.url"] != ""; !replaced && r.MasterName == "" && (r.SentinelUsername != "" || r.SentinelPasswordEnv != "" || r.SentinelPasswordFile != "") {
		bad("redis.master_name", "is missing, but a user or password of Sentinels is set: set the name that the Sentinels know the master by, or leave redis.sentinel_* out")
	}
	c.databaseFaults(bad)
}

// maxDB is the greatest number of a database that a Redis can have. Each server has its own bound,
// which only it knows.
const maxDB = math.MaxInt32 - 1

func (c *Config) databaseFaults(bad func(path, format string, args ...any)) {
	in, own := c.endpoint.db, c.Redis.DB
	switch {
	case own != nil && (*own < 0 || *own > maxDB):
		bad("redis.db", "is %d, must be 0 to %d", *own, maxDB)
	case in != nil && own != nil && *in != *own:
		bad("redis.db", "is %d, but redis.url names the database %d, give one of them", *own, *in)
	case c.Redis.Cluster && c.database() > 0:
		at := "redis.db"
		if own == nil {
			at = "redis.url"
		}
		bad(at, "names the database %d, must be 0 in a Cluster", c.database())
	}
}

func (c *Config) tlsFaults(bad func(path, format string, args ...any)) {
	t := c.Redis.TLS
	if (t.Cert == "") != (t.Key == "") {
		bad("redis.tls", "has a cert without its key, or a key without its cert")
	}
	off := t.Enabled != nil && !*t.Enabled
	switch {
	case off && c.endpoint.tls:
		bad("redis.tls.enabled", "is false, but redis.url is rediss://, which is for TLS: write redis://, or leave enabled out")
	case off && t.named():
		bad("redis.tls.enabled", "is false, but redis.tls has settings of TLS: set it to true, or leave them out")
	}
}
