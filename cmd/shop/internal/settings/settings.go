// Package settings has the configuration of a shop: the settings of a node without jobs, and the sections shop and sms.
package settings

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
)

// A File is the content of the file of a shop, overridden by environment and flags. A nil setting is not
// set: its default is the library's.
type File struct {
	config.Config
	Shop Shop `yaml:"shop"`
	SMS  *SMS `yaml:"sms"` // nil: the shop sends no messages
}

// Shop has the settings of a sale, of its HTTP server and of its jobs.
type Shop struct {
	Sale           string           `yaml:"sale"`
	Address        string           `yaml:"address"`
	AllowRemote    bool             `yaml:"allow_remote"`
	Hosts          []string         `yaml:"hosts"`
	Hold           *config.Duration `yaml:"hold"`
	Retention      *config.Duration `yaml:"retention"`
	Replicas       int              `yaml:"replicas"`
	ReplicaTimeout *config.Duration `yaml:"replica_timeout"`
	Restore        string           `yaml:"restore"`
	Durability     string           `yaml:"durability"`
	Database       Database         `yaml:"database"`
	Events         *Events          `yaml:"events"`

	InFlight *int             `yaml:"in_flight"`
	Wait     *config.Duration `yaml:"wait"`
	Timeout  *config.Duration `yaml:"timeout"`

	BuyerTokenEnv    string `yaml:"buyer_token_env"`
	BuyerTokenFile   string `yaml:"buyer_token_file"`
	SellerTokenEnv   string `yaml:"seller_token_env"`
	SellerTokenFile  string `yaml:"seller_token_file"`
	PaymentTokenEnv  string `yaml:"payment_token_env"`
	PaymentTokenFile string `yaml:"payment_token_file"`
}

// Database names the database of the orders: an SQLite file, or a DSN.
type Database struct {
	File    string `yaml:"file"`
	DSNEnv  string `yaml:"dsn_env"`
	DSNFile string `yaml:"dsn_file"`
}

// Events has the settings of the events of orders.
type Events struct {
	Retention *config.Duration `yaml:"retention"`
	Webhook   *Webhook         `yaml:"webhook"`
}

// A Webhook has the settings of a webhook that gets events.
type Webhook struct {
	URL           string           `yaml:"url"`
	AllowPlain    bool             `yaml:"allow_plain"`
	SecretEnv     string           `yaml:"secret_env"`
	SecretFile    string           `yaml:"secret_file"`
	OldSecretEnv  string           `yaml:"old_secret_env"`
	OldSecretFile string           `yaml:"old_secret_file"`
	Timeout       *config.Duration `yaml:"timeout"`
	Concurrency   *int             `yaml:"concurrency"`
}

// SMS has the settings of the job that sends text messages.
type SMS struct {
	Gateway     string           `yaml:"gateway"`
	URL         string           `yaml:"url"`
	TokenEnv    string           `yaml:"token_env"`
	TokenFile   string           `yaml:"token_file"`
	Timeout     *config.Duration `yaml:"timeout"`
	Batch       *int             `yaml:"batch"`
	Concurrency *int             `yaml:"concurrency"`
	Rate        *int             `yaml:"rate"`
	Attempts    *int             `yaml:"attempts"`
	Retention   *config.Duration `yaml:"retention"`
	Receipts    *Receipts        `yaml:"receipts"`
}

// Receipts has the address that gateways send receipts to, and their token.
type Receipts struct {
	Address     string `yaml:"address"`
	AllowRemote bool   `yaml:"allow_remote"`
	TokenEnv    string `yaml:"token_env"`
	TokenFile   string `yaml:"token_file"`
}

// The defaults of settings that have none in the libraries.
const (
	defaultAddress  = "127.0.0.1:8081"
	DefaultDatabase = "cronce-shop.db"
	DSNEnv          = "SHOP_DSN"
)

// Value returns the value of a setting; zero, which a library takes as its default, if it is not set.
func Value[T any](setting *T) (value T) {
	if setting != nil {
		value = *setting
	}
	return value
}

// Flags adds --config, the flags of a node, and --address to a command.
func Flags(cmd *cobra.Command) {
	command.ConfigFlags(cmd, config.NodeOverrides)
	cmd.Flags().String("address", "", "address that serves the sale, or \"off\" (default "+defaultAddress+")")
}

// StoreFlags adds --config and the flags of the store to a command.
func StoreFlags(cmd *cobra.Command) {
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().Lookup("store").Usage = "URL of the store, which must be a Redis: redis:// or rediss://, without a password"
}

// Read reads the file that the command names, then environment, then flags: later ones win. Its
// error, of wrong usage, joins every fault.
func Read(cmd *cobra.Command) (*File, error) {
	source, err := command.Source(cmd)
	if err != nil {
		return nil, command.ConfigError(err)
	}
	f, err := read(source)
	if err != nil {
		if f != nil {
			command.WarnOfVariables(cmd, &f.Config)
		}
		return nil, command.ConfigError(err)
	}
	f.OnPlaintext(command.WarnTo(cmd))
	return f, nil
}

// read returns no file if it cannot be parsed.
func read(source config.Source) (*File, error) {
	if source.Env == nil {
		source.Env = os.LookupEnv
	}
	f := &File{Config: *config.Default(source.Env)}
	f.Shop.Address = defaultAddress
	readable, err := config.ReadInto(f, &f.Config, source, config.NodeOverrides, func(c *config.Config) {
		if c.Store == "" && c.Redis.URL == "" && len(c.Redis.Addresses) == 0 {
			c.Redis.URL = config.DefaultRedis
		}
	})
	if !readable {
		return nil, err
	}
	if source.Flag != nil {
		if address, given := source.Flag("address"); given {
			f.Shop.Address = address
		}
	}
	return f, errors.Join(err, errors.Join(f.faults()...))
}
