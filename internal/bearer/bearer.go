// Package bearer checks the bearer token (Authorization: Bearer) with which a request proves its
// rights: RFC 6750.
package bearer

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Given returns the token of a request, and whether it has one.
func Given(r *http.Request) (token string, ok bool) {
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, found && strings.EqualFold(scheme, "Bearer")
}

// Is reports whether the token of a request is one of the known tokens. An empty known token
// matches nothing; a line break at the end of one, as a file has it, does not count. The time of the
// comparison reveals neither how much of a token is right nor which token matches.
func Is(r *http.Request, known ...string) bool {
	given, ok := Given(r)
	hash, right := sha256.Sum256([]byte(given)), 0
	for _, token := range known {
		if token = strings.TrimRight(token, "\r\n"); token == "" {
			continue
		}
		one := sha256.Sum256([]byte(token))
		right |= subtle.ConstantTimeCompare(hash[:], one[:])
	}
	return ok && right == 1
}

// Demand sets the header of w that answers a request without a known token. The caller writes the
// status, 401, and the body. The realm is a name without quotes.
func Demand(w http.ResponseWriter, r *http.Request, realm string) {
	challenge := `Bearer realm="` + realm + `"`
	if _, ok := Given(r); ok {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
}
