package outbound

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// AllowedURL describes the URLs that ParseURL accepts.
const AllowedURL = "an http or https URL with a host, without user or password, and with a port from 1 to 65535 if it has one"

// ParseURL returns a parsed URL, or the fault in its text. The fault does not repeat the URL, which
// may contain a secret.
func ParseURL(raw string) (u *url.URL, fault string) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, "not a URL"
	case u.User != nil:
		return nil, "one with a user or password"
	case (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return nil, "of another scheme, or without a host"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, "one with a wrong port"
		}
	}
	return u, ""
}

// NewClient returns a client that follows no redirect, uses no proxy of the environment and no
// connection twice, and connects only to public addresses unless private ones are allowed. It has
// no timeout: the context of a request bounds it.
func NewClient(allowPrivate bool) *http.Client {
	var dialer net.Dialer
	if !allowPrivate {
		dialer.ControlContext = OnlyPublic
	}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Sign returns the header Cronce-Signature of a body: t=<Unix seconds>, and for each secret
// v1=<HMAC-SHA256 of t, a dot and the body, in hex>.
func Sign(at time.Time, body []byte, secrets ...string) string {
	t := strconv.FormatInt(at.Unix(), 10)
	parts := make([]string, 1, 1+len(secrets))
	parts[0] = "t=" + t
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(t + "."))
		mac.Write(body)
		parts = append(parts, "v1="+hex.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(parts, ",")
}
