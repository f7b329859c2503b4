package config

import (
	"time"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// A Config is the content of config.yaml, overridden by environment and flags.
type Config struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace"`
	Zone      string `yaml:"zone"`
	Plaintext string `yaml:"plaintext"`
	Store     string `yaml:"store"`

	StorePasswordEnv  string `yaml:"store_password_env"`
	StorePasswordFile string `yaml:"store_password_file"`

	Redis     Redis     `yaml:"redis"`
	HTTP      HTTP      `yaml:"http"`
	Log       Log       `yaml:"log"`
	Scheduler Scheduler `yaml:"scheduler"`
	Include   []string  `yaml:"include"`
	Defaults  Policies  `yaml:"defaults"`
	Jobs      []Job     `yaml:"jobs"`
	Ops       *Ops      `yaml:"ops"`

	file     *strictyaml.File
	included []part                                    // in the order of their jobs
	origin   map[string]string                         // by path: the variable or flag that set it
	address  StoreAddress                              // the address of the store
	endpoint endpoint                                  // parsed redis.url, with a password from the environment
	env      func(name string) (value string, ok bool) // nil: no variable is set
	stale    func(error)                               // nil: ignored
	plain    func(path, text string)                   // nil: ignored
	embedded bool                                      // the Redis is inside this process, so the environment's settings for a Redis are ignored
}

// Redis is the section redis: addresses, credentials, and the size of the journal.
type Redis struct {
	URL                  string   `yaml:"url"`
	Addresses            []string `yaml:"addresses"`
	MasterName           string   `yaml:"master_name"`
	Cluster              bool     `yaml:"cluster"`
	DB                   *int     `yaml:"db"`
	Username             string   `yaml:"username"`
	PasswordEnv          string   `yaml:"password_env"`
	PasswordFile         string   `yaml:"password_file"`
	SentinelUsername     string   `yaml:"sentinel_username"`
	SentinelPasswordEnv  string   `yaml:"sentinel_password_env"`
	SentinelPasswordFile string   `yaml:"sentinel_password_file"`
	TLS                  TLS      `yaml:"tls"`
	PoolSize             int      `yaml:"pool_size"`
	Partitions           int      `yaml:"partitions"`
	GroupBy              string   `yaml:"group_by"`
	JournalLines         int      `yaml:"journal_lines"`
	JournalBytes         int64    `yaml:"journal_bytes"`
	Strict               bool     `yaml:"strict"`
	AllowEviction        bool     `yaml:"allow_eviction"`
}

// TLS has the settings for encrypted connections to the Redis. CA, Cert and Key are names of files.
type TLS struct {
	Enabled    *bool  `yaml:"enabled"`
	CA         string `yaml:"ca"`
	Cert       string `yaml:"cert"`
	Key        string `yaml:"key"`
	ServerName string `yaml:"server_name"`
}

// HTTP is an address to be served: host:port, or "off".
type HTTP struct {
	Address     string `yaml:"address"`
	AllowRemote bool   `yaml:"allow_remote"`
}

// Log has the level and the format of a node's log.
type Log struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
}

// Scheduler has the settings of scheduler.Config. Zero: the default of that package.
type Scheduler struct {
	Concurrency  int      `yaml:"concurrency"`
	Grace        Duration `yaml:"grace"`
	CancelGrace  Duration `yaml:"cancel_grace"`
	Spread       Duration `yaml:"spread"`
	StoreTimeout Duration `yaml:"store_timeout"`
	ClockWarn    Duration `yaml:"clock_warn"`
}

// A Job names a kind of job and overrides the defaults of the kind.
type Job struct {
	Name        string            `yaml:"name"`
	Kind        string            `yaml:"kind"`
	Spec        string            `yaml:"spec"`
	Zone        string            `yaml:"zone"`
	At          string            `yaml:"at"`
	NotBefore   string            `yaml:"not_before"`
	Until       string            `yaml:"until"`
	Every       int               `yaml:"every"`
	Exclude     []string          `yaml:"exclude"`
	Enabled     *bool             `yaml:"enabled"`
	Description string            `yaml:"description"`
	Owner       string            `yaml:"owner"`
	Runbook     string            `yaml:"runbook"`
	Labels      map[string]string `yaml:"labels"`
	Policies
	Replicas    *int       `yaml:"replicas"`
	Shards      int        `yaml:"shards"`
	ShardParams []string   `yaml:"shard_params"`
	ShardFail   *shardFail `yaml:"shard_fail"`
	Broadcast   bool       `yaml:"broadcast"`
	Limit       *Limit     `yaml:"limit"`

	Exec  *Exec  `yaml:"exec"`
	Sleep *Sleep `yaml:"sleep"`
	HTTP  *Call  `yaml:"http"`
}

// Policies are the settings of a job that can have a default for all jobs of the file. A nil
// setting is not set.
type Policies struct {
	Overlap     *overlap     `yaml:"overlap"`
	Misfire     *misfire     `yaml:"misfire"`
	Takeover    *takeover    `yaml:"takeover"`
	Interrupted *interrupted `yaml:"interrupted"`
	Attempts    *int         `yaml:"attempts"`
	Window      *Duration    `yaml:"window"`
	Deadline    *Duration    `yaml:"deadline"`
	Timeout     *Duration    `yaml:"timeout"`
	Retry       *Retry       `yaml:"retry"`
	Jitter      *Duration    `yaml:"jitter"`
	Lease       *Duration    `yaml:"lease"`
	Log         *runLog      `yaml:"log"`
}

// Limit names a limit that jobs share, and its number of places.
type Limit struct {
	Name string `yaml:"name"`
	Of   int    `yaml:"of"`
}

// Retry has the tries of a run and the waits between them.
type Retry struct {
	Tries  int      `yaml:"tries"`
	Wait   Duration `yaml:"wait"`
	Max    Duration `yaml:"max"`
	Jitter float64  `yaml:"jitter"`
	For    Duration `yaml:"for"`
}

// Exec are the settings of kind exec.
type Exec struct {
	Command   []string          `yaml:"command"`
	Shell     string            `yaml:"shell"`
	Dir       string            `yaml:"dir"`
	Env       map[string]string `yaml:"env"`
	EnvFrom   []string          `yaml:"env_from"`
	EnvFile   string            `yaml:"env_file"`
	User      string            `yaml:"user"`
	Group     string            `yaml:"group"`
	Umask     string            `yaml:"umask"`
	Stdin     string            `yaml:"stdin"`
	Log       bool              `yaml:"log"`
	Skip      []int             `yaml:"skip"`
	Permanent []int             `yaml:"permanent"`
	Retry     []int             `yaml:"retry"`
}

// Sleep are the settings of kind sleep.
type Sleep struct {
	For Duration `yaml:"for"`
}

// Defaults of settings that have no default in the libraries.
const (
	defaultNamespace   = "cronce"
	DefaultRedis       = "redis://127.0.0.1:6379"
	defaultHTTP        = "127.0.0.1:8080"
	PasswordEnv        = "CRONCE_REDIS_PASSWORD"
	defaultGrace       = 20 * time.Second
	defaultCancelGrace = 5 * time.Second
)

// Default returns the configuration without file, environment and flags. Env reads the variables
// that hold secrets, like os.LookupEnv.
func Default(env func(name string) (value string, ok bool)) *Config {
	return &Config{
		Namespace: defaultNamespace,
		HTTP:      HTTP{Address: defaultHTTP},
		Log:       Log{Level: "info", Format: "auto"},
		Scheduler: Scheduler{Grace: Duration(defaultGrace), CancelGrace: Duration(defaultCancelGrace)},
		file:      &strictyaml.File{},
		env:       env,
		origin:    map[string]string{},
	}
}

// OnPlaintext sets the function to be called for each setting with which a secret is, or may be,
// sent to another machine without TLS.
func (c *Config) OnPlaintext(warn func(path, text string)) { c.plain = warn }

// OnStale sets the function to be called with the error of a secret or certificate that can no
// longer be read. The last value stays in use.
func (c *Config) OnStale(warn func(error)) { c.stale = warn }

// variable returns the value of a variable of the environment, and whether it is set.
func (c *Config) variable(name string) (value string, ok bool) {
	if c.env == nil {
		return "", false
	}
	return c.env(name)
}

// Fault returns the fault of the value at path, with the place where it was set.
func (c *Config) Fault(path, format string, args ...any) error {
	if origin := c.origin[path]; origin != "" {
		var elsewhere strictyaml.File
		return elsewhere.Fault(origin, format, args...)
	}
	return c.faultOfJob(path, format, args...)
}
