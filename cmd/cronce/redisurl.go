package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// An endpoint is what a Redis URL says.
type endpoint struct {
	address  string
	db       int
	username string
	password secret
	tls      bool
}

const urlAllowed = "allowed is redis://[user@]host[:port][/db], or rediss:// for TLS"

// parseRedisURL never repeats a password: neither the URL nor what package url
// says about it is part of an error before it is known to have none.
func parseRedisURL(raw string) (endpoint, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "redis" && u.Scheme != "rediss") {
		return endpoint{}, errors.New("is no URL of a Redis, " + urlAllowed)
	}
	e := endpoint{tls: u.Scheme == "rediss", address: u.Host}
	if u.Port() == "" {
		e.address = net.JoinHostPort(u.Hostname(), "6379")
	}
	if u.User != nil {
		e.username = u.User.Username()
		if password, ok := u.User.Password(); ok {
			e.password = newSecret(password)
		}
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return endpoint{}, fmt.Errorf("is %q with parameters, %s", redact(u), urlAllowed)
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		if e.db, err = strconv.Atoi(db); err != nil || e.db < 0 {
			return endpoint{}, fmt.Errorf("is %q, %s", redact(u), urlAllowed)
		}
	}
	return e, nil
}

// redact shows a URL without what may be secret in it.
func redact(u *url.URL) string {
	shown := *u
	shown.RawQuery, shown.Fragment = "", ""
	return strings.Replace(shown.Redacted(), ":xxxxx@", ":***@", 1)
}

func (e endpoint) hasPassword() bool { return e.password.reveal != nil }

// String shows the endpoint without its password.
func (e endpoint) String() string {
	scheme, user, db := "redis://", "", ""
	if e.tls {
		scheme = "rediss://"
	}
	switch {
	case e.hasPassword():
		user = e.username + ":***@"
	case e.username != "":
		user = e.username + "@"
	}
	if e.db != 0 {
		db = "/" + strconv.Itoa(e.db)
	}
	return scheme + user + e.address + db
}
