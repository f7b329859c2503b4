package config

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

var namespacePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// faults returns the faults of the configuration, without the faults of its jobs, which only a
// scheduler can find.
func (c *Config) faults() (errs []error) {
	bad := func(path, format string, args ...any) { errs = append(errs, c.Fault(path, format, args...)) }
	if !namespacePattern.MatchString(c.Namespace) {
		bad("namespace", "is %s, must be %s", strictyaml.Quote(c.Namespace), namespacePattern)
	}
	if _, err := ParseZone(c.Zone); err != nil {
		bad("zone", "%v", err)
	}
	if level, err := zapcore.ParseLevel(c.Log.Level); err != nil || level > zapcore.ErrorLevel { // at zap's higher levels no error would be logged
		bad("log.level", "is %s, must be debug, info, warn or error", strictyaml.Quote(c.Log.Level))
	}
	if !slices.Contains([]string{"auto", "json", "console"}, c.Log.Format) {
		bad("log.format", "is %s, must be auto, json or console", strictyaml.Quote(c.Log.Format))
	}
	if !slices.Contains([]string{"", plaintextWarn, plaintextRefuse, plaintextAllow}, c.Plaintext) {
		bad("plaintext", "is %s, must be warn, refuse or allow", strictyaml.Quote(c.Plaintext))
	}
	c.ListenFaults(bad, "http", c.HTTP)
	c.opsFaults(bad)
	c.secretFaults(bad)
	c.storeFaults(bad)
	c.redisFaults(bad)
	c.tlsFaults(bad)
	c.sizeFaults(bad)
	return errs
}

// Off reports whether no address is served.
func (h HTTP) Off() bool { return h.Address == "" || h.Address == "off" }

// Loopback reports whether only this machine can reach the address.
func (h HTTP) Loopback() bool {
	host, _, _ := net.SplitHostPort(h.Address)
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// isPort reports whether a text is the number of a port, or 0 for a free one.
func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// isServerPort reports whether a text is the number of a port at which a server can listen.
func isServerPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// portsFit reports whether each port of a URL with these hosts, with commas between, is one of a server, also as
// a parameter of PostgreSQL. A host may have none. Other text with two colons is no host: it may be a user and a password.
func portsFit(u *url.URL, hosts string) bool {
	hosts += ",:" + strings.ReplaceAll(u.Query().Get("port"), ",", ",:")
	for host := range strings.SplitSeq(hosts, ",") {
		_, port, err := net.SplitHostPort(host)
		if port != "" && !isServerPort(port) || err != nil && strings.Count(host, ":") > 1 && !isIP(host) {
			return false
		}
	}
	return true
}

// isIP reports whether a host is an IP address, with or without brackets.
func isIP(host string) bool {
	_, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil
}

// badPort is the fault of a URL with another port. It does not repeat it: without an @ it may be a
// password.
const badPort = "has a port that is not 1 to 65535"

// ListenFaults checks an address to be served: other machines may reach it only if allow_remote is
// set.
func (c *Config) ListenFaults(bad func(path, format string, args ...any), at string, h HTTP) {
	if h.Off() {
		return
	}
	if _, port, err := net.SplitHostPort(h.Address); err != nil || !isPort(port) {
		bad(at+".address", "is %s, must be host:port with a port up to 65535, such as %s, or off", strictyaml.Quote(h.Address), defaultHTTP)
		return
	}
	if !h.Loopback() && !h.AllowRemote {
		bad(at+".address", "is %s, which other machines can reach: set %s.allow_remote to true in the file if they should", strictyaml.Quote(h.Address), at)
	}
}
