package stockhttp

import (
	"reflect"
	"slices"
)

// A RouteInfo is a route as the description of the shop has it.
type RouteInfo struct {
	Method, Path string
	Roles        []Role
	Form, View   reflect.Type // nil: none
}

// Routes are all routes.
func Routes() (all []RouteInfo) {
	for _, r := range routes() {
		all = append(all, RouteInfo{r.method, r.path, r.roles, r.form, r.view})
	}
	return all
}

// ProblemType is what an error is answered with.
var ProblemType = reflect.TypeFor[problem]()

// ProblemNames are the types of problems.
func ProblemNames() (names []string) {
	for _, name := range []string{"sold-out", "buyer-limit", "not-begun", "ended", "id-taken", "closed", "unpaid", "refunded", "reference-taken",
		"too-many-payments", "too-low", "too-many-products", "no-price", "unknown-order", "unknown-product",
		"store-full", "unconfirmed", "unsettled", "stock-unknown", "cross-origin", "doubt", "host", "invalid", "malformed", "media-type", "method", "not-found", "overloaded", "role", "token", "too-large"} {
		names = append(names, "urn:cronce:stock:"+name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
