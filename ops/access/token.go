package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// A Role defines the rights of a caller.
type Role int

// Roles. Each includes the rights of the ones before it. None is no caller at all.
const (
	None Role = iota
	Viewer
	Operator
	Admin
)

var roles = []string{"none", "viewer", "operator", "admin"}

// String returns the role's name in the file of tokens.
func (r Role) String() string { return roles[r] }

// ParseRole parses the name of a role.
func ParseRole(name string) (Role, error) {
	for i, known := range roles[1:] {
		if name == known {
			return Role(i + 1), nil
		}
	}
	return None, fmt.Errorf("role %.40q must be viewer, operator or admin", name)
}

// A Token is a line of the file of tokens: its owner, its role, and the SHA-256 of its text.
type Token struct {
	ID   string
	Role Role
	Hash [sha256.Size]byte
	// UserHeader is the header in which the owner, a proxy, names the user for whom it sends a
	// request. Empty: the owner is the caller.
	UserHeader string
}

var (
	idPattern     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)
	userPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$`) // no slash, so that no user has the id of another token
	headerPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")  // a token of RFC 9110
)

// prefix begins the text of each token, so that scanners find leaked secrets.
const prefix = "cro_"

// NewToken makes a token of 256 random bits. The text is the secret: the token only has its hash.
func NewToken(id string, role Role) (t Token, text string, err error) {
	if !idPattern.MatchString(id) {
		return t, "", fmt.Errorf("id %.80q must be %s", id, idPattern)
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	text = prefix + hex.EncodeToString(secret)
	return Token{ID: id, Role: role, Hash: sha256.Sum256([]byte(text))}, text, nil
}

// WithUserHeader returns the token of a proxy that names its users in a header.
func (t Token) WithUserHeader(name string) (Token, error) {
	t.UserHeader = http.CanonicalHeaderKey(name)
	if !headerPattern.MatchString(name) || slices.Contains([]string{"Authorization", "Cookie", "Host"}, t.UserHeader) {
		return t, errors.New("the header of the user must be the name of one, other than Authorization, Cookie and Host")
	}
	return t, nil
}

// Line returns the token's line in the file.
func (t Token) Line() string {
	line := t.ID + " " + t.Role.String() + " " + hex.EncodeToString(t.Hash[:])
	if t.UserHeader != "" {
		line += " " + t.UserHeader
	}
	return line
}

// caller returns the caller of a request with the token. The token of a proxy alone identifies none:
// the request must name one user.
func (t Token) caller(r *http.Request) Caller {
	if t.UserHeader == "" {
		return Caller{ID: t.ID, Role: t.Role}
	}
	users := r.Header.Values(t.UserHeader)
	if len(users) != 1 || !userPattern.MatchString(users[0]) {
		return Caller{}
	}
	return Caller{ID: t.ID + "/" + users[0], Role: t.Role}
}

// ParseTokens parses a file of tokens. Each token has a line with its id, role and SHA-256 in hex.
// The line of a proxy ends with the header that names its users. Lines that begin with # are ignored. A second line with the
// id or the SHA-256 of an earlier one is a fault: a request must have one caller, with one role. The error joins every fault and contains no hash.
func ParseTokens(text string) (tokens []Token, err error) {
	var faults []error
	seen := map[string]bool{}
	owner := map[[sha256.Size]byte]string{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		t, err := parseToken(strings.Fields(line))
		if err == nil && seen[t.ID] {
			err = fmt.Errorf("id %q is given twice", t.ID)
		}
		if other, known := owner[t.Hash]; err == nil && known {
			err = fmt.Errorf("id %q has the token of %q", t.ID, other)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", i+1, err))
			continue
		}
		seen[t.ID] = true
		owner[t.Hash] = t.ID
		tokens = append(tokens, t)
	}
	if len(faults) == 0 && len(tokens) == 0 {
		faults = append(faults, errors.New("there is no token"))
	}
	return tokens, errors.Join(faults...)
}

func parseToken(fields []string) (t Token, err error) {
	if len(fields) != 3 && len(fields) != 4 {
		return t, fmt.Errorf("has %d words, must have an id, a role, the SHA-256 of a token and, of a proxy, the header that names its users", len(fields))
	}
	if !idPattern.MatchString(fields[0]) {
		return t, fmt.Errorf("the id must be %s", idPattern)
	}
	t.ID = fields[0]
	if t.Role, err = ParseRole(fields[1]); err != nil {
		return t, err
	}
	hash, err := hex.DecodeString(fields[2])
	if err != nil || len(hash) != sha256.Size {
		return t, errors.New("the SHA-256 must be 64 hexadecimal digits")
	}
	copy(t.Hash[:], hash)
	if len(fields) == 4 {
		return t.WithUserHeader(fields[3])
	}
	return t, nil
}

// find returns the token with a text. Its duration depends neither on the number of correct
// characters nor on the position of the token.
func find(tokens []Token, text string) (found Token, ok bool) {
	hash := sha256.Sum256([]byte(text))
	for _, t := range tokens {
		if subtle.ConstantTimeCompare(hash[:], t.Hash[:]) == 1 {
			found, ok = t, true
		}
	}
	return found, ok
}
