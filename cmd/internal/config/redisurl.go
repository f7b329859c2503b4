package config

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// An endpoint is a parsed Redis URL.
type endpoint struct {
	address  string
	db       *int // nil: the URL names none
	username string
	password Secret
	tls      bool
}

const urlAllowed = "must be redis://[user@]host[:port][/db], or rediss:// for TLS"

// parseRedisURL parses a URL. Its error repeats no part of the URL: a typing error can make a part
// of a password look like another part of the URL.
func parseRedisURL(raw string) (endpoint, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || (u.Scheme != "redis" && u.Scheme != "rediss") {
		return endpoint{}, errors.New("is no URL of a Redis, " + urlAllowed)
	}
	if strayAt(raw) {
		return endpoint{}, errors.New(strayAtSays)
	}
	if !portsFit(u, u.Host) {
		return endpoint{}, errors.New(badPort + ", " + urlAllowed)
	}
	e := endpoint{tls: u.Scheme == "rediss", address: u.Host, username: u.User.Username()}
	if u.Port() == "" {
		e.address = net.JoinHostPort(u.Hostname(), "6379")
	}
	if password, ok := u.User.Password(); ok {
		e.password = newSecret(password)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return endpoint{}, errors.New("has parameters or a fragment, " + urlAllowed)
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		n, err := strconv.Atoi(db)
		if err != nil || n < 0 || n > maxDB {
			return endpoint{}, errors.New("has a path that is no number of a database, " + urlAllowed)
		}
		e.db = &n
	}
	return e, nil
}

// ShownRedisURL returns the URL of a Redis without its user and password.
func ShownRedisURL(raw string) (string, error) {
	e, err := parseRedisURL(raw)
	return e.String(), err
}

const strayAtSays = "has an @ behind its host: in a password write %2F for /, %3F for ?, %23 for # and %40 for @, and elsewhere %40 for @"

// strayAt reports whether a URL has an @ after its host. The host is then probably the beginning of
// a password with an unescaped / ? or #, which would be printed and connected to.
func strayAt(raw string) bool {
	_, rest, _ := strings.Cut(raw, "://")
	i := strings.IndexAny(rest, "/?#")
	return i >= 0 && strings.Contains(rest[i:], "@")
}

func (e endpoint) hasPassword() bool { return e.password.reveal != nil }

// String omits the user, which may be a password in the wrong place.
func (e endpoint) String() string {
	e.username = ""
	return e.forFlag()
}

// forFlag returns the endpoint as a URL without a password.
func (e endpoint) forFlag() string {
	u := url.URL{Scheme: "redis", Host: e.address}
	if e.tls {
		u.Scheme = "rediss"
	}
	if e.username != "" {
		u.User = url.User(e.username)
	}
	if e.db != nil {
		u.Path = strconv.Itoa(*e.db)
	}
	return u.String()
}
