package config

import "strings"

// An Override is a setting that a variable of the environment or a flag can set.
type Override struct {
	path, Flag, Env, Usage string
	target                 func(*Config) *string
}

// StoreOverrides are the settings of the store's address.
var StoreOverrides = []Override{
	{"store", "store", "CRONCE_STORE", "URL of the store, without a password: redis://, postgres://, mysql://, sqlite:FILE, zookeeper:// (docs/stores.md)",
		func(c *Config) *string { return &c.Store }},
	{"redis.url", "redis", redisURLEnv, "URL of the Redis, without a password: redis://[user@]host:port[/db], rediss:// for TLS",
		func(c *Config) *string { return &c.Redis.URL }},
	{"redis.username", "", "CRONCE_REDIS_USERNAME", "", func(c *Config) *string { return &c.Redis.Username }},
	{"namespace", "namespace", "CRONCE_NAMESPACE", "prefix of all keys in the store",
		func(c *Config) *string { return &c.Namespace }},
}

// NodeOverrides are the settings of a node.
var NodeOverrides = append([]Override{
	{"name", "name", "CRONCE_NODE_NAME", "name of this node in logs and journal (default the host's name)",
		func(c *Config) *string { return &c.Name }},
	{"http.address", "http", "CRONCE_HTTP", "address that serves /healthz and /readyz, or \"off\" (default " + defaultHTTP + ")",
		func(c *Config) *string { return &c.HTTP.Address }},
	{"log.level", "log-level", "CRONCE_LOG_LEVEL", "debug, info, warn or error", func(c *Config) *string { return &c.Log.Level }},
	{"log.format", "log-format", "CRONCE_LOG_FORMAT", "json, console, or auto: console on a terminal", func(c *Config) *string { return &c.Log.Format }},
}, StoreOverrides...)

// HealthOverrides are the setting for the address of a node's health.
var HealthOverrides = []Override{
	{"http.address", "http", "CRONCE_HTTP", "address at which the node serves /readyz (default " + defaultHTTP + ")",
		func(c *Config) *string { return &c.HTTP.Address }},
}

// SetRedisURL sets the Redis at a URL as the store. Origin names the setting in faults.
func (c *Config) SetRedisURL(url, origin string) { c.set(StoreOverrides[1], url, origin) }

// SetEmbeddedRedis sets a Redis inside this process as the store. The environment's settings for a
// Redis are ignored.
func (c *Config) SetEmbeddedRedis(url string) {
	c.SetRedisURL(url, "")
	c.embedded = true
}

// override applies the environment and the flags. An empty variable counts as not set.
func (c *Config) override(s Source, overrides []Override) {
	for _, o := range overrides {
		if value, _ := c.variable(o.Env); value != "" {
			c.set(o, value, o.Env)
		}
	}
	if s.Flag == nil {
		return
	}
	for _, o := range overrides {
		if o.Flag == "" {
			continue
		}
		if value, given := s.Flag(o.Flag); given {
			c.set(o, value, "--"+o.Flag)
		}
	}
}

// set changes a setting. A URL replaces all addresses of the file, so that --redis means the same
// with any file. If the URL has a database, a user or TLS, it replaces that setting of the file;
// other settings of the file stay.
func (c *Config) set(o Override, value, origin string) {
	*o.target(c) = value
	c.origin[o.path] = origin
	r := &c.Redis
	switch o.path {
	case "store": // replaces any store of the file
		r.URL, r.Addresses, r.MasterName, r.Cluster = "", nil, "", false
		return
	case "redis.url":
		if isFlag(c.origin["store"]) != isFlag(origin) || c.origin["store"] == "" { // otherwise both are set, which is a fault
			c.Store = ""
		}
	default:
		return
	}
	r.Addresses, r.MasterName, r.Cluster = nil, "", false
	e, _ := parseRedisURL(value) // faults reports its error
	if e.db != nil {
		r.DB = nil
	}
	if e.username != "" {
		r.Username = ""
	}
	if e.tls {
		r.TLS.Enabled = nil
	}
}

func isFlag(origin string) bool { return strings.HasPrefix(origin, "--") }
