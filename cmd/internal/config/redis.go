package config

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
)

// RedisOptions returns the options of the client for a configuration. It reads secrets and certificates. It is no method, so
// that the package of a command that has a Config compiles none of the client's methods.
func RedisOptions(c *Config) (*redis.UniversalOptions, error) {
	r := &c.Redis
	password, sentinel, err := c.passwords()
	if err != nil {
		return nil, err
	}
	o := &redis.UniversalOptions{
		Addrs: r.Addresses, MasterName: r.MasterName, IsClusterMode: r.Cluster, DB: c.database(), PoolSize: r.PoolSize,
		Username: r.Username, Password: password.Text(),
		SentinelUsername: r.SentinelUsername, SentinelPassword: sentinel.Text(),
	}
	if r.URL != "" {
		fill(o, c.endpoint)
	}
	if !c.embedded {
		if err = userFaults(c, o); err != nil {
			return nil, err
		}
	}
	if c.endpoint.tls || r.TLS.on() {
		if err = encrypt(c, o); err != nil {
			return nil, err
		}
	}
	if err = reread(c, o); err != nil {
		return nil, err
	}
	return o, redisInPlain(c, o)
}

// reread sets the options to read a password file for each new connection. The password of the
// Sentinels is read once, because the client accepts no function for it.
func reread(c *Config, o *redis.UniversalOptions) error {
	name := c.Redis.PasswordFile
	if name == "" || c.embedded || c.endpoint.hasPassword() {
		return nil
	}
	password, err := NewCurrent(c, func() (Secret, error) { return c.SecretFile("redis.password_file", name) }, name)
	if err != nil {
		return err
	}
	username := o.Username
	o.CredentialsProvider = func() (string, string) { return username, password.Value().Text() }
	return nil
}

// encrypt sets the options to use the current certificates for each new connection.
func encrypt(c *Config, o *redis.UniversalOptions) error {
	t := &c.Redis.TLS
	settings, err := NewCurrent(c, c.tlsConfig, t.CA, t.Cert, t.Key)
	if err != nil {
		return err
	}
	o.TLSConfig = settings.last
	o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: o.DialTimeout, KeepAlive: keepAlive}, Config: settings.Value()}
		return d.DialContext(ctx, network, address)
	}
	return nil
}

// keepAlive is the interval at which the client probes an idle connection; the client's own
// default.
const keepAlive = 5 * time.Minute

// passwords reads the passwords of the Redis and of its Sentinels.
func (c *Config) passwords() (password, sentinel Secret, err error) {
	r, otherwise := &c.Redis, PasswordEnv
	if c.embedded {
		otherwise = ""
	}
	password, err = c.ReadSecret("redis.password", r.PasswordFile, r.PasswordEnv, otherwise)
	if err != nil {
		return Secret{}, Secret{}, err
	}
	sentinel, err = c.ReadSecret("redis.sentinel_password", r.SentinelPasswordFile, r.SentinelPasswordEnv, "")
	return password, sentinel, err
}

// fill copies the parts that a URL has; the others stay unchanged.
func fill(o *redis.UniversalOptions, e endpoint) {
	o.Addrs = []string{e.address}
	if e.username != "" {
		o.Username = e.username
	}
	if e.hasPassword() {
		o.Password = e.password.Text()
	}
}

// database returns the number of the database in redis.url or redis.db.
func (c *Config) database() int {
	db := cmp.Or(c.endpoint.db, c.Redis.DB)
	if db == nil {
		return 0
	}
	return *db
}

// userFaults refuses users and passwords without effect. The client logs in as the default user
// where a user has no password.
func userFaults(c *Config, o *redis.UniversalOptions) error {
	if other, _ := c.secretVariable(PasswordEnv); c.endpoint.hasPassword() && other != "" && other != c.endpoint.password.Text() {
		return c.Fault("redis.url", "has another password than $%s, give one of them", PasswordEnv)
	}
	if o.Username != "" && o.Password == "" {
		at := "redis.username"
		if c.Redis.Username == "" {
			at = "redis.url"
		}
		return c.Fault(at, "names a user without a password: set $%s, redis.password_env or redis.password_file", PasswordEnv)
	}
	if o.MasterName != "" && o.SentinelUsername != "" && o.SentinelPassword == "" {
		return c.Fault("redis.sentinel_username", "names a user without a password: set redis.sentinel_password_env or redis.sentinel_password_file")
	}
	return nil
}

// named reports whether a setting is present that only TLS uses.
func (t *TLS) named() bool { return t.CA != "" || t.Cert != "" || t.Key != "" || t.ServerName != "" }

// on reports whether the settings enable TLS; redis.url may enable it too.
func (t *TLS) on() bool { return t.named() || t.Enabled != nil && *t.Enabled }

func (c *Config) tlsConfig() (*tls.Config, error) {
	t := &c.Redis.TLS
	out := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		var err error
		if out.RootCAs, err = c.authorities(t.CA); err != nil {
			return nil, err
		}
	}
	if t.Cert != "" {
		pair, err := c.keyPair(t.Cert, t.Key)
		if err != nil {
			return nil, err
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// maxCertificates bounds a file of certificates, or a key, in bytes.
const maxCertificates = 4 << 20

func (c *Config) authorities(name string) (*x509.CertPool, error) {
	pem, err := boundedfile.Read(name, maxCertificates)
	if err != nil {
		return nil, c.Fault("redis.tls.ca", "names a file that cannot be used: %v", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, c.Fault("redis.tls.ca", "names a file that has no certificate in PEM")
	}
	return pool, nil
}

func (c *Config) keyPair(cert, key string) (tls.Certificate, error) {
	certPEM, err := boundedfile.Read(cert, maxCertificates)
	if err != nil {
		return tls.Certificate{}, c.Fault("redis.tls.cert", "names a file that cannot be used: %v", err)
	}
	keyPEM, err := boundedfile.Read(key, maxCertificates)
	if err != nil {
		return tls.Certificate{}, c.Fault("redis.tls.key", "names a file that cannot be used: %v", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return tls.Certificate{}, c.Fault("redis.tls.cert", "and redis.tls.key are no pair: %v", err)
	}
	return pair, nil
}

// RedisName names the Redis without any secret.
func (c *Config) RedisName() string {
	r := &c.Redis
	switch {
	case r.MasterName != "":
		return fmt.Sprintf("Redis master %q of Sentinels %v", r.MasterName, r.Addresses)
	case len(r.Addresses) > 1:
		return fmt.Sprintf("Redis Cluster %v", r.Addresses)
	case len(r.Addresses) == 1:
		return "Redis " + r.Addresses[0]
	}
	return c.endpoint.String()
}
