// Package absent recognizes a nil that an interface hides.
package absent

import "reflect"

// Is reports whether v is nil, or holds a nil pointer, function, map or channel: an interface that holds
// one of these is not nil itself, and fails only where it is called. A nil slice is an empty one, whose
// methods work.
func Is(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan:
		return r.IsNil()
	}
	return false
}
