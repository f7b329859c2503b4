package reward

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
)

// A Claim is the request of a family's member for a reward that each family gets once. Each field
// is [A-Za-z0-9._-]{1,64} and case-sensitive. Printed or logged, it shows a masked family and
// member.
type Claim struct {
	Family string
	Reward string
	Member string
}

// A FieldError names the field or option that was refused.
type FieldError struct {
	Field   string // its name
	Value   string // the given value: quoted, cut, and masked if it is personal
	Allowed string // the allowed values
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %s, must be %s", e.Field, e.Value, e.Allowed)
}

var idPattern = regexp.MustCompile(`\A[A-Za-z0-9._-]{1,64}\z`)

const idAllowed = "1 to 64 of A-Z a-z 0-9 . _ -"

// Validate returns nil, or a *FieldError for each field that is not allowed,
// joined.
func (c Claim) Validate() error {
	var faults []error
	for _, f := range []struct {
		name, value string
		show        func(string) string
	}{{"family", c.Family, Mask}, {"reward", c.Reward, cut}, {"member", c.Member, Mask}} {
		if !idPattern.MatchString(f.value) {
			faults = append(faults, &FieldError{f.name, fmt.Sprintf("%q", f.show(f.value)), idAllowed})
		}
	}
	return errors.Join(faults...)
}

// key returns the key of the lock. Keys appear in errors and in the store, so it is a hash without
// the family's name. Fields contain no slash, so two different pairs never give the same input.
func (c Claim) key() string {
	sum := sha256.Sum256([]byte(c.Family + "/" + c.Reward))
	return "reward/" + c.Reward + "/" + hex.EncodeToString(sum[:16])
}

// String is for people and logs: family and member are masked.
func (c Claim) String() string {
	return fmt.Sprintf("reward %q for family %q by member %q", cut(c.Reward), Mask(c.Family), Mask(c.Member))
}

// GoString is String, so that %#v shows no more.
func (c Claim) GoString() string { return c.String() }

// LogValue is the claim in a log, with a masked family and member.
func (c Claim) LogValue() slog.Value { return slog.GroupValue(c.attrs()...) }

func (c Claim) attrs() []slog.Attr {
	return []slog.Attr{slog.String("reward", cut(c.Reward)), slog.String("family", Mask(c.Family)), slog.String("member", Mask(c.Member))}
}
