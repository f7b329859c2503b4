package stockhttp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"

	stockhttp "github.com/cronce/cronce/jobs/stock/http"
)

var update = flag.Bool("update", false, "write openapi.json as the routes say")

// An operation is what the description says of a route beyond what the code does.
type operation struct {
	summary  string
	statuses []int // with which it may be answered, beyond those of all
}

// operations has each route.
var operations = map[string]operation{
	"GET /openapi.json":         {summary: "This description", statuses: []int{200}},
	"GET /products/{sku}":       {summary: "A product", statuses: []int{200, 404, 422}},
	"PUT /products/{sku}":       {summary: "Set how a product is sold", statuses: []int{200, 409, 507}},
	"PUT /products/{sku}/stock": {summary: "Set what was put in of a product, in all", statuses: []int{200, 409, 507}},
	"POST /orders":              {summary: "Place an order, once per id", statuses: []int{200, 201, 409, 507}},
	"GET /orders/{id}":          {summary: "An order, its receiver masked", statuses: []int{200, 404, 422}},
	"DELETE /orders/{id}":       {summary: "Cancel an order that is not paid", statuses: []int{200, 404, 409, 422}},
	"POST /orders/{id}/pay":     {summary: "An order was paid", statuses: []int{200, 404, 409, 507}},
	"POST /orders/{id}/refund":  {summary: "A payment goes back", statuses: []int{200, 404, 409, 507}},
	"POST /orders/{id}/return":  {summary: "The items of an order came back", statuses: []int{200, 404, 409, 507}},
}

// The statuses that each route may be answered with: of all, and of those with a body.
var (
	always   = []int{401, 403, 421, 503}
	withBody = []int{400, 413, 415, 422}
)

// optional are the fields that a body need not have.
var optional = []string{"buyer", "buyer_limit", "starts_at", "ends_at"}

type object = map[string]any

// values says what is allowed in fields, by their names.
var values = map[string]object{
	"id":          {"pattern": "^[A-Za-z0-9._-]{1,64}$", "description": "not to be guessed: it is all that it takes to read the order"},
	"sku":         {"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},
	"buyer":       {"pattern": "^[A-Za-z0-9._-]{1,64}$", "description": "needed where a product of the order has a buyer_limit"},
	"starts_at":   {"format": "date-time", "description": "when its sale begins, by the store's clock; absent: it has"},
	"ends_at":     {"format": "date-time", "description": "when its sale ends; absent: never"},
	"receiver":    {"minLength": 1, "maxLength": 200},
	"items":       {"minItems": 1, "maxItems": 50},
	"quantity":    {"minimum": 1},
	"price":       {"minimum": 0, "maximum": int64(1e12), "description": "of one, in minor units"},
	"amount":      {"minimum": 0, "maximum": int64(1e12), "description": "in minor units"},
	"currency":    {"pattern": "^[A-Z]{3}$"},
	"total":       {"minimum": 0, "maximum": int64(1e12), "description": "what was put in, in all"},
	"reference":   {"pattern": "^[A-Za-z0-9._-]{1,64}$"},
	"payment":     {"pattern": "^[A-Za-z0-9._-]{1,64}$", "description": "the reference of the payment"},
	"buyer_limit": {"minimum": 0, "maximum": 1_000_000, "description": "how many one buyer may have; 0: any number"},
	"state":       {"enum": []string{"reserved", "paid", "cancelled", "expired", "returned", "refunded"}},
}

// schemaOf describes a type as it is sent, by its name among schemas if it has one.
func schemaOf(t reflect.Type, schemas object, answer bool) object {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int64, reflect.Int:
		return object{"type": "integer", "format": "int64"}
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem(), schemas, answer)}
	case reflect.Struct:
		name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
		if _, known := schemas[name]; !known {
			schemas[name] = nil
			properties, required := object{}, []string{}
			fieldsOf(t, schemas, answer, properties, &required)
			slices.Sort(required)
			one := object{"type": "object", "properties": properties, "required": required}
			if !answer {
				one["additionalProperties"] = false
			}
			schemas[name] = one
		}
		return object{"$ref": "#/components/schemas/" + name}
	}
	return object{"type": "string"}
}

func fieldsOf(t reflect.Type, schemas object, answer bool, properties object, required *[]string) {
	for f := range t.Fields() {
		if f.Anonymous {
			fieldsOf(f.Type, schemas, answer, properties, required)
			continue
		}
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		one := schemaOf(f.Type, schemas, answer)
		if _, is := one["type"]; is {
			maps.Copy(one, values[name])
		}
		properties[name] = one
		if answer && rest != "omitempty" || !answer && !slices.Contains(optional, name) {
			*required = append(*required, name)
		}
	}
}

// describe makes the description.
func describe(t *testing.T) []byte {
	t.Helper()
	schemas, paths := object{}, map[string]object{}
	schemaOf(stockhttp.ProblemType, schemas, true)
	problem := object{"description": "what was not done, and why", "content": object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}}}
	problems, _ := schemas["Problem"].(object)
	kinds, _ := problems["properties"].(object)
	kinds["type"] = object{"type": "string", "enum": stockhttp.ProblemNames()}
	for _, r := range stockhttp.Routes() {
		op, ok := operations[r.Method+" "+r.Path]
		if !ok {
			t.Errorf("%s %s is not described", r.Method, r.Path)
		}
		responses := object{}
		for _, status := range allStatuses(op, r) {
			if status >= 400 {
				responses[strconv.Itoa(status)] = object{"$ref": "#/components/responses/Problem"}
				continue
			}
			if status == http.StatusNoContent {
				responses[strconv.Itoa(status)] = object{"description": http.StatusText(status)}
				continue
			}
			answer := object{"type": "object"}
			if r.View.Kind() == reflect.Struct {
				answer = schemaOf(r.View, schemas, true)
			}
			responses[strconv.Itoa(status)] = object{"description": http.StatusText(status), "content": object{"application/json": object{"schema": answer}}}
		}
		one := object{"operationId": identifier(r), "summary": op.summary, "responses": responses, "security": security(r)}
		if parameters := parametersOf(op, r); len(parameters) > 0 {
			one["parameters"] = parameters
		}
		if r.Form != nil {
			one["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": schemaOf(r.Form, schemas, false)}}}
		}
		if paths[r.Path] == nil {
			paths[r.Path] = object{}
		}
		paths[r.Path][strings.ToLower(r.Method)] = one
	}
	schemes := object{}
	for _, role := range stockhttp.Roles() {
		schemes[string(role)] = object{"type": "http", "scheme": "bearer", "description": "a token of the role " + string(role)}
	}
	text, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{"title": "shop", "version": "1",
			"description": "Sells products, and never more than there are. Every request may be sent again; after 503 it has to be, to know. 421: the Host of the request is not one of the shop."},
		"paths":      paths,
		"components": object{"schemas": schemas, "securitySchemes": schemes, "responses": object{"Problem": problem}},
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func allStatuses(op operation, r stockhttp.RouteInfo) []int {
	all := slices.Clone(op.statuses)
	if len(r.Roles) > 0 {
		all = append(all, always...)
	}
	if r.Form != nil {
		all = append(all, withBody...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// identifier names an operation: get_products_sku.
func identifier(r stockhttp.RouteInfo) string {
	return strings.ToLower(r.Method) + strings.NewReplacer("/", "_", "{", "", "}", "", ".", "_").Replace(r.Path)
}

func security(r stockhttp.RouteInfo) []object {
	all := []object{}
	for _, role := range r.Roles {
		all = append(all, object{string(role): []string{}})
	}
	return all
}

func parametersOf(op operation, r stockhttp.RouteInfo) (all []object) {
	add := func(in, name string, required bool) {
		schema := object{"type": "string"}
		if name == "limit" {
			schema["type"] = "integer"
		}
		maps.Copy(schema, values[name])
		maps.Copy(schema, values["?"+name])
		all = append(all, object{"in": in, "name": name, "required": required, "schema": schema})
	}
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(r.Path, -1) {
		add("path", m[1], true)
	}
	return all
}

// The description that is served has each route, method, role, field and problem as the code
// has them, and nothing else.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	want := describe(t)
	for name := range operations {
		if !slices.ContainsFunc(stockhttp.Routes(), func(r stockhttp.RouteInfo) bool { return r.Method+" "+r.Path == name }) {
			t.Errorf("%s is described, and is no route", name)
		}
	}
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatal("openapi.json is not as the routes: run go test ./jobs/stock -run '^TestOpenAPI$' -update, and look at the difference")
	}
	s := newShop(t, miniredis.RunT(t).Addr())
	if status, answer, _ := s.send("GET", "/openapi.json", ""); status != 200 || answer["openapi"] != "3.1.0" {
		t.Error(status, answer)
	}
}

// Each reference of the description leads somewhere, and each name of a schema is used.
func TestOpenAPIReferences(t *testing.T) {
	t.Parallel()
	var document struct {
		Components map[string]map[string]any `json:"components"`
	}
	text := described(t)
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`"#/components/(\w+)/(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		used[m[2]] = true
		if document.Components[m[1]][m[2]] == nil {
			t.Errorf("%s leads nowhere", m[0])
		}
	}
	for name := range document.Components["schemas"] {
		if !used[name] {
			t.Errorf("schema %s is not used", name)
		}
	}
}

var described = func() func(t testing.TB) []byte {
	read := sync.OnceValues(func() ([]byte, error) { return os.ReadFile("openapi.json") })
	return func(t testing.TB) []byte {
		t.Helper()
		text, err := read()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}()

// bodies are what is allowed to be sent, with each field that a body must have.
var bodies = map[string]string{
	"PUT /products/{sku}":       `{"price":350,"currency":"EUR"}`,
	"PUT /products/{sku}/stock": `{"total":9}`,
	"POST /orders":              teaForTwo,
	"POST /orders/{id}/pay":     payTea,
	"POST /orders/{id}/refund":  `{"reference":"f-1","payment":"p-1"}`,
	"POST /orders/{id}/return":  `{"reference":"r-1"}`,
}

// A field that the description requires is required: a body without it is refused with its name,
// and what is not required may be missing.
func TestOpenAPIRequired(t *testing.T) {
	t.Parallel()
	s := newShop(t, miniredis.RunT(t).Addr())
	put(t, s.Sale, "tea", 9)
	for _, r := range stockhttp.Routes() {
		if r.Form == nil {
			continue
		}
		name := r.Method + " " + r.Path
		var body map[string]any
		if err := json.Unmarshal([]byte(bodies[name]), &body); err != nil {
			t.Errorf("%s has no body to try: %v", name, err)
			continue
		}
		schemas := object{}
		schemaOf(r.Form, schemas, false)
		form, _ := schemas[strings.ToUpper(r.Form.Name()[:1])+r.Form.Name()[1:]].(object)
		required, _ := form["required"].([]string)
		if got := slices.Sorted(maps.Keys(body)); !slices.Equal(got, required) {
			t.Errorf("%s requires %q, the body has %q", name, required, got)
		}
		path := strings.NewReplacer("{sku}", "tea", "{id}", "o-1").Replace(r.Path)
		for _, field := range required {
			without := maps.Clone(body)
			delete(without, field)
			text, _ := json.Marshal(without)
			status, answer, _ := s.send(r.Method, path, string(text))
			if status != 422 || !strings.Contains(fmt.Sprint(answer["fields"]), "field:"+field) {
				t.Errorf("%s without %s: %d %v", name, field, status, answer)
			}
		}
		if status, answer, _ := s.send(r.Method, path, bodies[name]); status == 422 || status == 400 {
			t.Errorf("%s: %d %v", name, status, answer)
		}
	}
}

// statusesOf are the statuses that the description has of a request; nil: it is of no route.
func statusesOf(method, path string) []int {
	path, _, _ = strings.Cut(path, "?")
	for _, r := range stockhttp.Routes() {
		pattern := "^" + regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(r.Path), "[^/]+") + "$"
		if r.Method == method && regexp.MustCompile(pattern).MatchString(path) {
			return allStatuses(operations[r.Method+" "+r.Path], r)
		}
	}
	return nil
}
