package main

import (
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// A config is what config.yaml says, with environment and flags over it.
type config struct {
	Name      string       `yaml:"name"`
	Namespace string       `yaml:"namespace"`
	Zone      string       `yaml:"zone"`
	Plaintext string       `yaml:"plaintext"`
	Redis     redisConfig  `yaml:"redis"`
	HTTP      httpConfig   `yaml:"http"`
	Log       logConfig    `yaml:"log"`
	Scheduler tuningConfig `yaml:"scheduler"`
	Jobs      []jobConfig  `yaml:"jobs"`
	Shop      *shopConfig  `yaml:"shop"`

	file     *strictyaml.File
	origin   map[string]string // paths that environment or flags set, and which
	endpoint endpoint          // what redis.url says, with a password from the environment
	stale    func(error)       // is called with the error of a secret or certificate that can no longer be read; nil: ignored
	warn     func(path, text string)
	embedded bool // the Redis is inside a demo: what the environment says about another does not count
}

type redisConfig struct {
	URL                  string    `yaml:"url"`
	Addresses            []string  `yaml:"addresses"`
	MasterName           string    `yaml:"master_name"`
	Cluster              bool      `yaml:"cluster"`
	DB                   int       `yaml:"db"`
	Username             string    `yaml:"username"`
	PasswordEnv          string    `yaml:"password_env"`
	PasswordFile         string    `yaml:"password_file"`
	SentinelUsername     string    `yaml:"sentinel_username"`
	SentinelPasswordEnv  string    `yaml:"sentinel_password_env"`
	SentinelPasswordFile string    `yaml:"sentinel_password_file"`
	TLS                  tlsConfig `yaml:"tls"`
	PoolSize             int       `yaml:"pool_size"`
	Shards               int       `yaml:"shards"`
	GroupBy              string    `yaml:"group_by"`
	JournalLines         int       `yaml:"journal_lines"`
	JournalBytes         int64     `yaml:"journal_bytes"`
	Strict               bool      `yaml:"strict"`
	AllowEviction        bool      `yaml:"allow_eviction"`
}

type tlsConfig struct {
	Enabled    bool   `yaml:"enabled"`
	CA         string `yaml:"ca"`
	Cert       string `yaml:"cert"`
	Key        string `yaml:"key"`
	ServerName string `yaml:"server_name"`
}

type httpConfig struct {
	Address     string `yaml:"address"`
	AllowRemote bool   `yaml:"allow_remote"`
}

type logConfig struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
}

// tuningConfig are scheduler.Config's settings; what is zero has its default there.
type tuningConfig struct {
	Concurrency  int      `yaml:"concurrency"`
	Grace        duration `yaml:"grace"`
	CancelGrace  duration `yaml:"cancel_grace"`
	Spread       duration `yaml:"spread"`
	StoreTimeout duration `yaml:"store_timeout"`
	ClockWarn    duration `yaml:"clock_warn"`
}

// A jobConfig names a kind of job and overrides what that kind says by itself.
type jobConfig struct {
	Name        string       `yaml:"name"`
	Kind        string       `yaml:"kind"`
	Spec        string       `yaml:"spec"`
	Overlap     *overlap     `yaml:"overlap"`
	Misfire     *misfire     `yaml:"misfire"`
	Takeover    *takeover    `yaml:"takeover"`
	Interrupted *interrupted `yaml:"interrupted"`
	Attempts    *int         `yaml:"attempts"`
	Window      *duration    `yaml:"window"`
	Deadline    *duration    `yaml:"deadline"`
	Timeout     *duration    `yaml:"timeout"`
	Retry       *retryConfig `yaml:"retry"`
	Jitter      *duration    `yaml:"jitter"`
	Lease       *duration    `yaml:"lease"`
	Replicas    *int         `yaml:"replicas"`

	SMS   *smsConfig   `yaml:"sms"`
	Sleep *sleepConfig `yaml:"sleep"`
}

type retryConfig struct {
	Tries int      `yaml:"tries"`
	Wait  duration `yaml:"wait"`
	Max   duration `yaml:"max"`
}

// smsConfig are the settings of kind sms.
type smsConfig struct {
	Gateway     string   `yaml:"gateway"`
	URL         string   `yaml:"url"`
	TokenEnv    string   `yaml:"token_env"`
	TokenFile   string   `yaml:"token_file"`
	Timeout     duration `yaml:"timeout"`
	Batch       int      `yaml:"batch"`
	Concurrency int      `yaml:"concurrency"`
	Rate        int      `yaml:"rate"`
	Attempts    int      `yaml:"attempts"`
	Retention   duration `yaml:"retention"`
	Quiet       string   `yaml:"quiet"`
	QuietZone   string   `yaml:"quiet_zone"`

	Receipts *receiptsConfig `yaml:"receipts"`
}

// receiptsConfig says where a gateway sends its receipts.
type receiptsConfig struct {
	Address     string `yaml:"address"`
	AllowRemote bool   `yaml:"allow_remote"`
	TokenEnv    string `yaml:"token_env"`
	TokenFile   string `yaml:"token_file"`
}

// sleepConfig are the settings of kind sleep.
type sleepConfig struct {
	For duration `yaml:"for"`
}

// shopConfig are the settings of a sale: where it is served, and its jobs' parts.
type shopConfig struct {
	Sale           string         `yaml:"sale"`
	Address        string         `yaml:"address"`
	AllowRemote    bool           `yaml:"allow_remote"`
	Hosts          []string       `yaml:"hosts"`
	Hold           duration       `yaml:"hold"`
	PayTime        duration       `yaml:"pay_time"`
	Retention      duration       `yaml:"retention"`
	Replicas       int            `yaml:"replicas"`
	ReplicaTimeout duration       `yaml:"replica_timeout"`
	Batch          int            `yaml:"batch"`
	Restore        string         `yaml:"restore"`
	Durability     string         `yaml:"durability"`
	Database       databaseConfig `yaml:"database"`
	Rewards        *rewardsConfig `yaml:"rewards"`
	Events         *eventsConfig  `yaml:"events"`

	InFlight        int        `yaml:"in_flight"`
	Wait            duration   `yaml:"wait"`
	Timeout         duration   `yaml:"timeout"`
	BuyerRate       rateConfig `yaml:"buyer_rate"`
	AddressRate     rateConfig `yaml:"address_rate"`
	TrustedProxies  []string   `yaml:"trusted_proxies"`
	MetricsProducts []string   `yaml:"metrics_products"`

	BuyerTokenEnv    string `yaml:"buyer_token_env"`
	BuyerTokenFile   string `yaml:"buyer_token_file"`
	SellerTokenEnv   string `yaml:"seller_token_env"`
	SellerTokenFile  string `yaml:"seller_token_file"`
	PaymentTokenEnv  string `yaml:"payment_token_env"`
	PaymentTokenFile string `yaml:"payment_token_file"`
}

// eventsConfig says where the events of orders go.
type eventsConfig struct {
	Retention duration       `yaml:"retention"`
	Stream    *streamConfig  `yaml:"stream"`
	Webhook   *webhookConfig `yaml:"webhook"`
	SMS       *textsConfig   `yaml:"sms"`
}

type webhookConfig struct {
	URL           string   `yaml:"url"`
	AllowPlain    bool     `yaml:"allow_plain"`
	SecretEnv     string   `yaml:"secret_env"`
	SecretFile    string   `yaml:"secret_file"`
	OldSecretEnv  string   `yaml:"old_secret_env"`
	OldSecretFile string   `yaml:"old_secret_file"`
	Timeout       duration `yaml:"timeout"`
	Concurrency   int      `yaml:"concurrency"`
	Receiver      bool     `yaml:"receiver"`
}

// textsConfig are the templates of texts by the kind of event; empty: none is sent.
type textsConfig struct {
	Reserved  string `yaml:"reserved"`
	Paid      string `yaml:"paid"`
	Cancelled string `yaml:"cancelled"`
	Expired   string `yaml:"expired"`
	Returned  string `yaml:"returned"`
	Refunded  string `yaml:"refunded"`
}

type streamConfig struct {
	Key    string `yaml:"key"`
	Length int64  `yaml:"length"`
}

// rewardsConfig has the rewards of families served beside the shop.
type rewardsConfig struct {
	OfferedOnly bool   `yaml:"offered_only"`
	TokenEnv    string `yaml:"token_env"`
	TokenFile   string `yaml:"token_file"`
}

type databaseConfig struct {
	File    string `yaml:"file"`
	DSNEnv  string `yaml:"dsn_env"`
	DSNFile string `yaml:"dsn_file"`
}

// The defaults of what the library does not decide itself.
const (
	defaultNamespace   = "cronce"
	defaultRedis       = "redis://127.0.0.1:6379"
	defaultHTTP        = "127.0.0.1:8080"
	defaultShop        = "127.0.0.1:8081"
	defaultDatabase    = "cronce-shop.db"
	defaultPasswordEnv = "CRONCE_REDIS_PASSWORD"
	defaultDSNEnv      = "CRONCE_SHOP_DSN"
	defaultGrace       = 20 * time.Second
	defaultCancelGrace = 5 * time.Second
)

// defaultConfig is what holds where nobody says anything.
func defaultConfig() *config {
	return &config{
		Namespace: defaultNamespace,
		HTTP:      httpConfig{Address: defaultHTTP},
		Log:       logConfig{Level: "info", Format: "auto"},
		Scheduler: tuningConfig{Grace: duration(defaultGrace), CancelGrace: duration(defaultCancelGrace)},
		file:      &strictyaml.File{},
		origin:    map[string]string{},
	}
}

// fault makes a fault of the value at path, and tells where it was set.
func (c *config) fault(path, format string, args ...any) error {
	if origin := c.origin[path]; origin != "" {
		var elsewhere strictyaml.File
		return elsewhere.Fault(origin, format, args...)
	}
	return c.file.Fault(path, format, args...)
}
