package stockhttp

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// check reads one JSON value and compares it with the type of its form. It finds faults that a
// decoder accepts: names in different letter case and repeated names. It also names the place of a
// value of the wrong kind. It descends no deeper than the type.
func check(d *json.Decoder, t reflect.Type, path string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if token == nil { // null counts as absent
		return nil
	}
	if fault := kindFault(token, t); fault != "" {
		return refusal(at(path, ""), fault, wantedJSON(t))
	}
	switch t.Kind() {
	case reflect.Struct:
		return checkObject(d, t, path)
	case reflect.Slice:
		for i := 0; d.More(); i++ {
			if err := check(d, t.Elem(), path+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}

func checkObject(d *json.Decoder, t reflect.Type, path string) error {
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return errors.New("a name is no string")
		}
		field, known := fieldOf(t, name)
		switch {
		case !known:
			return refusal(at(path, name), "not known", "the fields of the documentation, in their letters")
		case seen[name]:
			return refusal(at(path, name), "there twice", "each field once")
		}
		seen[name] = true
		if err := check(d, field, at(path, name)); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// fieldOf returns the type of the form's field with exactly this name.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f.Type, true
		}
	}
	return nil, false
}

// at returns the path of a name, such as items[1].sku. It quotes a name that no field could have.
func at(path, name string) string {
	switch {
	case name != "" && !format.IsName(name):
		name = format.Quote(name)
	case name == "" && path == "":
		return "body"
	}
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// kindFault describes a value of the wrong kind; empty: no fault. It does not repeat the value,
// which may be personal.
func kindFault(token json.Token, t reflect.Type) string {
	switch value := token.(type) {
	case bool:
		return "true or false"
	case string:
		if t.Kind() != reflect.String {
			return "a string"
		}
	case json.Number:
		if t.Kind() != reflect.Int64 {
			return "a number"
		}
		if _, err := strconv.ParseInt(value.String(), 10, 64); err != nil {
			return "a number that is not whole, or too large"
		}
	case json.Delim:
		switch {
		case value == '{' && t.Kind() != reflect.Struct:
			return "an object"
		case value == '[' && t.Kind() != reflect.Slice:
			return "an array"
		}
	}
	return ""
}

// wantedJSON names the JSON kind that a field takes.
func wantedJSON(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		return "an object"
	case reflect.Slice:
		return "an array"
	case reflect.String:
		return "a string"
	}
	return "a whole number"
}
