package stock

import (
	"net/http"
	"strings"
)

// A deliveryForm is what is added to a product.
type deliveryForm struct {
	Reference string `json:"reference"`
	Quantity  *int64 `json:"quantity"`
}

// conditionOf reads If-Match and If-None-Match of a request that changes a product.
func conditionOf(r *http.Request) (c Condition, err error) {
	match, none := strings.Join(r.Header.Values("If-Match"), ","), strings.Join(r.Header.Values("If-None-Match"), ",")
	switch {
	case match != "" && none != "":
		return c, &FieldError{"If-None-Match", "there with If-Match", "one of them"}
	case none == "*":
		return Condition{Absent: true}, nil
	case none != "":
		return c, &FieldError{"If-None-Match", quote(none), "*"}
	case match == "*":
		return Condition{Known: true}, nil
	case match == "":
		return c, nil
	}
	for tag := range strings.SplitSeq(match, ",") {
		tag = strings.TrimSpace(tag)
		version := strings.Trim(tag, `"`)
		if tag != `"`+version+`"` || strings.Contains(version, `"`) || len(c.Versions) == 16 {
			return Condition{}, &FieldError{"If-Match", quote(match), "*, or up to 16 ETags as the shop has sent them, with their quotes"}
		}
		if !isVersion(version) {
			version = noVersion // an ETag of another server is no fault: it is that of no product
		}
		c.Versions = append(c.Versions, version)
	}
	return c, nil
}

// noVersion is that of no product.
const noVersion = "none"

func isVersion(s string) bool { return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == "" }

// deleteProduct serves the deletion of a product.
func deleteProduct(s *Sale, r *http.Request) (reply, error) {
	condition, err := conditionOf(r)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusNoContent}, s.Delete(r.Context(), r.PathValue("sku"), condition)
}

func addStock(s *Sale, r *http.Request, form deliveryForm) (reply, error) {
	if form.Quantity == nil {
		return reply{}, &FieldError{"quantity", "missing", "how many were delivered"}
	}
	return ofProduct(s.Supply(r.Context(), r.PathValue("sku"), form.Reference, *form.Quantity))
}
