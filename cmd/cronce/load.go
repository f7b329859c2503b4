package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/boundedfile"
	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// An override is a setting that flags and environment may set over the file.
type override struct {
	path, flag, env, usage string
	target                 func(*config) *string
}

// The settings that say where the store is.
var storeOverrides = []override{
	{"redis.url", "redis", redisURLEnv, "URL of the Redis, without a password: redis://[user@]host:port[/db], rediss:// for TLS",
		func(c *config) *string { return &c.Redis.URL }},
	{"redis.username", "", "CRONCE_REDIS_USERNAME", "", func(c *config) *string { return &c.Redis.Username }},
	{"namespace", "namespace", "CRONCE_NAMESPACE", "what all keys in the store begin with",
		func(c *config) *string { return &c.Namespace }},
}

// The settings that only a node has.
var nodeOverrides = append([]override{
	{"name", "name", "CRONCE_NODE_NAME", "name of this node in logs and journal (default the host's name)",
		func(c *config) *string { return &c.Name }},
	{"http.address", "http", "CRONCE_HTTP", "where /healthz and /readyz are served, \"off\" for nowhere (default " + defaultHTTP + ")",
		func(c *config) *string { return &c.HTTP.Address }},
	{"log.level", "log-level", "CRONCE_LOG_LEVEL", "debug, info, warn or error", func(c *config) *string { return &c.Log.Level }},
	{"log.format", "log-format", "CRONCE_LOG_FORMAT", "json, console, or auto: console on a terminal", func(c *config) *string { return &c.Log.Format }},
}, storeOverrides...)

// The variables that are not settings alone: one names the file, and one may hold a
// password.
const (
	configEnv   = "CRONCE_CONFIG"
	redisURLEnv = "CRONCE_REDIS_URL"
)

// configFlags adds --config and the flags of overrides to a command.
func configFlags(cmd *cobra.Command, overrides []override) {
	cmd.Flags().String("config", "", "configuration file ($"+configEnv+")")
	for _, o := range overrides {
		if o.flag != "" {
			cmd.Flags().String(o.flag, "", o.usage+" ($"+o.env+")")
		}
	}
}

// loadConfig reads what a command that needs the store has to know. Its error is
// a usageError that joins every fault.
func loadConfig(cmd *cobra.Command) (*config, error) {
	c, err := readConfig(cmd, storeOverrides)
	if c != nil {
		c.warnOfMisspelt(cmd.ErrOrStderr())
	}
	if err != nil {
		return nil, refused(err)
	}
	c.warn = warnTo(cmd.ErrOrStderr())
	return c, nil
}

// warnTo prints warnings to w as lines for a person.
func warnTo(w io.Writer) func(path, text string) {
	return func(path, text string) { fmt.Fprintf(w, "cronce: warning: %s %s\n", path, text) }
}

// loadNodeConfig reads what a node has to know: its jobs must be fine as well.
func loadNodeConfig(cmd *cobra.Command) (*config, error) {
	c, err := readConfig(cmd, nodeOverrides)
	return checked(cmd, c, err)
}

// checked adds what is wrong with the jobs of a configuration. A misspelt variable may
// be the cause: a node that starts logs it instead, as it does all warnings.
func checked(cmd *cobra.Command, c *config, err error) (*config, error) {
	if c != nil {
		_, faults := c.dryRun()
		if err = errors.Join(err, faults); err != nil {
			c.warnOfVariables(cmd.ErrOrStderr())
		}
	}
	if err != nil {
		return nil, refused(err)
	}
	c.warn = warnTo(cmd.ErrOrStderr())
	return c, nil
}

// readConfig reads the file that the command names, then environment, then flags:
// later ones win. The config is nil if there is nothing to look at.
func readConfig(cmd *cobra.Command, overrides []override) (*config, error) {
	return readConfigThen(cmd, overrides, func(*config) {})
}

// readConfigThen changes the configuration before it is judged.
func readConfigThen(cmd *cobra.Command, overrides []override, change func(*config)) (*config, error) {
	c := defaultConfig()
	name, data, err := configFile(cmd)
	if err != nil {
		return nil, err
	}
	var faults error
	if name != "" {
		if c.file, faults = strictyaml.Decode(name, data, c); c.file.Unreadable() {
			return nil, faults
		}
	}
	c.override(cmd, overrides)
	change(c)
	return c, errors.Join(faults, errors.Join(c.faults()...))
}

// configFile returns the file that flags or environment name; without one, none.
func configFile(cmd *cobra.Command) (name string, data []byte, err error) {
	if demo, _ := cmd.Flags().GetBool("demo"); demo {
		return demoFileName, demoFile, nil
	}
	name, _ = cmd.Flags().GetString("config")
	if name == "" {
		name = os.Getenv(configEnv)
	}
	if name == "" {
		return "", nil, nil
	}
	if data, err = boundedfile.Read(name, strictyaml.MaxSize); err != nil {
		if strictyaml.HasCredentials(name) {
			name = notShown
		}
		return "", nil, fmt.Errorf("%s: %w", name, err)
	}
	return name, data, nil
}

// override takes what environment and flags say. An empty variable says nothing.
func (c *config) override(cmd *cobra.Command, overrides []override) {
	for _, o := range overrides {
		if value := os.Getenv(o.env); value != "" {
			c.set(o, value, o.env)
		}
		if o.flag != "" && cmd.Flags().Changed(o.flag) {
			value, _ := cmd.Flags().GetString(o.flag)
			c.set(o, value, "--"+o.flag)
		}
	}
}

// set changes a setting. A URL replaces whatever the file says about where the
// Redis is, so that --redis means the same with any file.
func (c *config) set(o override, value, origin string) {
	*o.target(c) = value
	c.origin[o.path] = origin
	if o.path == "redis.url" {
		c.Redis.Addresses, c.Redis.MasterName, c.Redis.Cluster = nil, "", false
	}
}
