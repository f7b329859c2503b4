// Package bearer checks the token with which a request proves what it may do, as RFC 6750
// has it: Authorization: Bearer.
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

// Is reports whether the token of a request is one of those that are known; an empty one is
// none. How long it takes depends neither on how much of a token is right nor on which it is.
func Is(r *http.Request, known ...string) bool {
	given, ok := Given(r)
	hash, right := sha256.Sum256([]byte(given)), 0
	for _, token := range known {
		if token == "" {
			continue
		}
		one := sha256.Sum256([]byte(token))
		right |= subtle.ConstantTimeCompare(hash[:], one[:])
	}
	return ok && right == 1
}

// Demand makes w the answer to a request without a token that is known. The caller writes
// its status, 401, and body. Realm is a name without quotes.
func Demand(w http.ResponseWriter, r *http.Request, realm string) {
	challenge := `Bearer realm="` + realm + `"`
	if _, ok := Given(r); ok {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
}
