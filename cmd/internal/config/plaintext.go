package config

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/database"
)

// The values of plaintext: the treatment of a secret that would be sent to another machine without
// TLS.
const (
	plaintextWarn   = "warn"
	plaintextRefuse = "refuse"
	plaintextAllow  = "allow"
)

// InPlain warns of a setting with which a secret is, or may be, sent to another machine without TLS,
// or refuses it, as the setting plaintext says.
func (c *Config) InPlain(path, text string) error {
	otherwise := plaintextWarn
	if c.Redis.Strict {
		otherwise = plaintextRefuse
	}
	switch cmp.Or(c.Plaintext, otherwise) {
	case plaintextAllow:
		return nil
	case plaintextRefuse:
		return c.Fault(path, "%s; plaintext: allow permits it", text)
	}
	if c.plain != nil {
		c.plain(path, text)
	}
	return nil
}

// redisInPlain checks whether a password would be sent to a Redis, or to Sentinels, without TLS.
func redisInPlain(c *Config, o *redis.UniversalOptions) error {
	secret := o.Password != "" || o.SentinelPassword != ""
	if !secret || o.TLSConfig != nil || !slices.ContainsFunc(o.Addrs, remote) {
		return nil
	}
	return c.InPlain("redis.tls", "is off, so the password is sent to another machine in plain text: use rediss:// or redis.tls")
}

// remote reports whether a host, with or without a port, may be another machine.
func remote(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	local := host == "" || strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || // the last two prefixes are sockets
		strings.EqualFold(host, "localhost") || net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
	return !local
}

// TokenInPlain checks a URL that a token is sent to.
func (c *Config) TokenInPlain(path, url string) error {
	if !gatewayInPlain(url) {
		return nil
	}
	return c.InPlain(path, "is http, so the token is sent to another machine in plain text: use https")
}

// gatewayInPlain reports whether a token would be sent to another machine over http.
func gatewayInPlain(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Scheme == "http" && remote(u.Host)
}

// plainDSN is the fault of a DSN without TLS.
const plainDSN = "allows a connection to another machine without TLS: set sslmode=verify-full (PostgreSQL) or tls=true (MySQL, MariaDB)"

// InPlain describes a connection to another machine that may be without TLS. It returns "" if there
// is none. Without sslmode the driver for PostgreSQL tries TLS, and continues without it if the
// server, or an attacker in between, does not offer it.
func (d DSN) InPlain() string {
	plain := false
	switch d.Dialect {
	case database.PostgreSQL:
		if o, err := pgx.ParseConfig(d.Source); err == nil { // otherwise the connector refuses it
			plain = remote(o.Host) && o.TLSConfig == nil
			for _, other := range o.Fallbacks {
				plain = plain || remote(other.Host) && other.TLSConfig == nil
			}
		}
	case database.MySQL:
		o, err := mysql.ParseDSN(d.Source)
		plain = err == nil && remote(o.Addr) && (o.TLS == nil || o.AllowFallbackToPlaintext)
	}
	if plain {
		return plainDSN
	}
	return ""
}
