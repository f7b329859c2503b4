package shop

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// anyHost allows every Host, for a server behind a proxy that checks it.
const anyHost = "*"

// onlyHosts refuses requests for hosts that are not listed. A page of another site can make its own
// name resolve to this address (DNS rebinding), and would then count as the same site in a browser.
// It cannot make the browser send another name. IP addresses and localhost are always allowed,
// because no foreign page has such a name.
func onlyHosts(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hostAllowed(hosts, r.Host) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.WriteHeader(http.StatusMisdirectedRequest)
			_, _ = w.Write([]byte(`{"type":"urn:cronce:stock:host","title":"this is no server of that name: shop.hosts lists them","status":421}` + "\n"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func hostAllowed(hosts []string, host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if net.ParseIP(host) != nil || strings.EqualFold(host, "localhost") || slices.Contains(hosts, anyHost) {
		return true
	}
	return slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(strings.TrimSuffix(h, "."), host) })
}
