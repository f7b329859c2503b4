package stock

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// defaultPage is how many products or orders a page has, unless the request says.
const defaultPage = 100

// parameters reads the query of a request: parameters of these names, each once. The others are
// refused, since a misspelt filter would not filter.
func parameters(r *http.Request, names ...string) (map[string]string, error) {
	all, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &FieldError{"query", "not readable", "name=value, joined by &"}
	}
	values := map[string]string{}
	for name, given := range all {
		switch {
		case !slices.Contains(names, name):
			return nil, &FieldError{at("", name), "not known", "the parameters of the documentation"}
		case len(given) > 1:
			return nil, &FieldError{at("", name), "there twice", "each parameter once"}
		}
		values[name] = given[0]
	}
	return values, nil
}

// limitOf is how many a page is asked to have.
func limitOf(text string) (int, error) {
	if text == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, &FieldError{"limit", quote(text), "1 to " + strconv.Itoa(MaxPage)}
	}
	return n, nil
}

// A productsView is a page of products as it is shown.
type productsView struct {
	Products []productView `json:"products"`
	Next     string        `json:"next,omitempty"` // the cursor of the next page
}

// An ordersView is a page of orders as it is shown.
type ordersView struct {
	Orders []recordView `json:"orders"`
	Next   string       `json:"next,omitempty"` // the cursor of the next page
}

// A readForm is the ids of orders to read.
type readForm struct {
	IDs []string `json:"ids"`
}

// A readView is orders that were read as they are shown.
type readView struct {
	Orders     []recordView `json:"orders"`
	Unknown    []string     `json:"unknown"`
	Unreadable []string     `json:"unreadable"` // there is such an order, and its record is broken
}

func viewRecords(records []Record) []recordView {
	views := make([]recordView, len(records))
	for i, r := range records {
		views[i] = viewRecord(r)
	}
	return views
}

func listProducts(s *Sale, r *http.Request) (reply, error) {
	given, err := parameters(r, "limit", "cursor")
	if err != nil {
		return reply{}, err
	}
	limit, err := limitOf(given["limit"])
	if err != nil {
		return reply{}, err
	}
	page, err := s.Products(r.Context(), given["cursor"], limit)
	view := productsView{Products: make([]productView, len(page.Products)), Next: page.Next}
	for i, p := range page.Products {
		view.Products[i] = viewProduct(p)
	}
	return reply{view: view}, err
}

func listOrders(s *Sale, r *http.Request) (reply, error) {
	given, err := parameters(r, "limit", "cursor", "state", "sku")
	if err != nil {
		return reply{}, err
	}
	limit, err := limitOf(given["limit"])
	if err != nil {
		return reply{}, err
	}
	page, err := s.Orders(r.Context(), OrderQuery{State: State(given["state"]), SKU: given["sku"], Cursor: given["cursor"], Limit: limit})
	return reply{view: ordersView{viewRecords(page.Orders), page.Next}}, err
}

func readOrders(s *Sale, r *http.Request, form readForm) (reply, error) {
	all, err := s.ReadOrders(r.Context(), form.IDs)
	return reply{view: readView{viewRecords(all.Orders), append([]string{}, all.Unknown...), append([]string{}, all.Unreadable...)}}, err
}
