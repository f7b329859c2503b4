package stockhttp

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/bearer"
)

// A Role is the role of a caller, proved by a token.
type Role string

// The roles. Each role may read products and any order by its id. Ids of orders must therefore not
// be guessable.
const (
	Buyer          Role = "buyer"   // may place and cancel orders
	Seller         Role = "seller"  // may change products, list orders, and take items back
	PaymentService Role = "payment" // may report payments and refunds
)

// Roles returns all roles.
func Roles() []Role { return []Role{Buyer, Seller, PaymentService} }

// admit returns nil if the request has a token of one of the route's roles.
func (h *Handler) admit(route route, w http.ResponseWriter, r *http.Request) *problem {
	if h.tokens == nil || len(route.roles) == 0 {
		return nil
	}
	// All roles are compared, so that the time does not reveal the role.
	has := slices.DeleteFunc(Roles(), func(role Role) bool { return !bearer.Is(r, h.tokens(role)...) })
	if len(has) > 1 { // a mistake in a token file must not make a buyer a seller
		h.logShared(has)
	}
	if len(has) != 1 {
		bearer.Demand(w, r, "shop")
		return newProblem("token", http.StatusUnauthorized, "the token is missing or wrong", "Authorization: Bearer and a token of the shop")
	}
	if !slices.Contains(route.roles, has[0]) {
		return newProblem("role", http.StatusForbidden, "the token is of another role", "this is for "+names(route.roles))
	}
	return nil
}

// logShared logs, at most once a minute, that a request had a token of several roles, which proves
// none of them.
func (h *Handler) logShared(roles []Role) {
	if last, now := h.shared.Load(), time.Now().UnixNano(); now-last >= int64(time.Minute) && h.shared.CompareAndSwap(last, now) {
		h.log.Error("token of several roles", slog.String("roles", names(roles)), slog.String("text", "it proves none of them"))
	}
}

func names(roles []Role) string {
	texts := make([]string, len(roles))
	for i, role := range roles {
		texts[i] = string(role)
	}
	return strings.Join(texts, ", ")
}
