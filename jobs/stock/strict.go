package stock

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
)

// check reads one value of JSON and holds it against the type that it is for: it finds
// what a decoder would let pass, names in other letters and names that come twice, and
// reports where a value of another kind is. It goes no deeper than the type does.
func check(d *json.Decoder, t reflect.Type, path string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if token == nil { // null, which is as if it were absent
		return nil
	}
	if fault := kindFault(token, t); fault != "" {
		return &FieldError{at(path, ""), fault, wantedJSON(t)}
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
			return &FieldError{at(path, name), "not known", "the fields of the documentation, in their letters"}
		case seen[name]:
			return &FieldError{at(path, name), "there twice", "each field once"}
		}
		seen[name] = true
		if err := check(d, field, at(path, name)); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// fieldOf is the type of the field of a form that has exactly this name.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f.Type, true
		}
	}
	return nil, false
}

// at is where a name is: items[1].sku. A name that no field could have is quoted.
func at(path, name string) string {
	switch {
	case name != "" && !isName(name):
		name = quote(name)
	case name == "" && path == "":
		return "body"
	}
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// kindFault says what is wrong with the kind of a value; empty: nothing. It does not
// repeat the value, which may be personal.
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

// wantedJSON is what a field of a form takes, in the words of JSON.
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
