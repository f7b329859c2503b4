package config

// An Override is a setting that a variable of the environment, and a flag, may set over the file.
type Override struct {
	path, Flag, Env, Usage string
	target                 func(*Config) *string
}

// StoreOverrides are the settings that say where the store is.
var StoreOverrides = []Override{
	{"redis.url", "redis", redisURLEnv, "URL of the Redis, without a password: redis://[user@]host:port[/db], rediss:// for TLS",
		func(c *Config) *string { return &c.Redis.URL }},
	{"redis.username", "", "CRONCE_REDIS_USERNAME", "", func(c *Config) *string { return &c.Redis.Username }},
	{"namespace", "namespace", "CRONCE_NAMESPACE", "what all keys in the store begin with",
		func(c *Config) *string { return &c.Namespace }},
}

// NodeOverrides are the settings of a node.
var NodeOverrides = append([]Override{
	{"name", "name", "CRONCE_NODE_NAME", "name of this node in logs and journal (default the host's name)",
		func(c *Config) *string { return &c.Name }},
	{"http.address", "http", "CRONCE_HTTP", "where /healthz and /readyz are served, \"off\" for nowhere (default " + defaultHTTP + ")",
		func(c *Config) *string { return &c.HTTP.Address }},
	{"log.level", "log-level", "CRONCE_LOG_LEVEL", "debug, info, warn or error", func(c *Config) *string { return &c.Log.Level }},
	{"log.format", "log-format", "CRONCE_LOG_FORMAT", "json, console, or auto: console on a terminal", func(c *Config) *string { return &c.Log.Format }},
}, StoreOverrides...)

// ShopOverrides are the settings of a node, and where the shop is served.
var ShopOverrides = append([]Override{
	{"shop.address", "address", "CRONCE_SHOP", "where the shop is served (default " + defaultShop + ")", func(c *Config) *string {
		if c.Shop == nil {
			c.Shop = &Shop{}
		}
		return &c.Shop.Address
	}},
}, NodeOverrides...)

// HealthOverrides are the setting that says where a node serves its health.
var HealthOverrides = []Override{
	{"http.address", "http", "CRONCE_HTTP", "where the node serves /readyz (default " + defaultHTTP + ")",
		func(c *Config) *string { return &c.HTTP.Address }},
}

// SetRedisURL makes the Redis that a URL names the store. Origin is what faults call the setting.
func (c *Config) SetRedisURL(url, origin string) { c.set(StoreOverrides[0], url, origin) }

// SetEmbeddedRedis makes a Redis the store that is inside this process: what the environment says
// about another does not count.
func (c *Config) SetEmbeddedRedis(url string) {
	c.SetRedisURL(url, "")
	c.embedded = true
}

// Embedded reports whether the Redis is inside this process.
func (c *Config) Embedded() bool { return c.embedded }

// override takes what environment and flags say. An empty variable says nothing.
func (c *Config) override(s Source, overrides []Override) {
	for _, o := range overrides {
		if value, _ := c.variable(o.Env); value != "" {
			c.set(o, value, o.Env)
		}
		if o.Flag == "" || s.Flag == nil {
			continue
		}
		if value, given := s.Flag(o.Flag); given {
			c.set(o, value, "--"+o.Flag)
		}
	}
}

// set changes a setting. A URL replaces whatever the file says about where the
// Redis is, so that --redis means the same with any file.
func (c *Config) set(o Override, value, origin string) {
	*o.target(c) = value
	c.origin[o.path] = origin
	if o.path == "redis.url" {
		c.Redis.Addresses, c.Redis.MasterName, c.Redis.Cluster = nil, "", false
	}
}
