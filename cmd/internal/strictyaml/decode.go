package strictyaml

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// decode writes a node into a value of any supported type; any gets the tree of the file.
func (d *decoder) decode(node ast.Node, into reflect.Value, path string) {
	if d.refuse(node, path) {
		d.file.unread[path] = true
		return
	}
	switch node.(type) {
	case *ast.NullNode, *ast.CommentGroupNode:
		return
	}
	into = pointee(into)
	_, decodesItself := reflect.TypeAssert[encoding.TextUnmarshaler](into.Addr())
	switch {
	case into.Kind() == reflect.Interface:
		d.tree(node, into, path)
	case into.Kind() == reflect.Struct && !decodesItself:
		d.mapping(node, into, path)
	case into.Kind() == reflect.Slice:
		d.list(node, into, path)
	case into.Kind() == reflect.Map:
		d.table(node, into, path)
	default:
		d.scalar(node, into, path)
	}
}

// refuse adds the fault of a node that is an anchor, an alias or a tag. It reports whether it is one.
func (d *decoder) refuse(node ast.Node, path string) bool {
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.fault(node, path, "anchors, aliases and tags are not allowed: quote a value that begins with *, & or !")
		d.file.partly[path] = true
		return true
	}
	return false
}

// refuseKey is refuse for a key of the mapping at path, which may be a merge key too.
func (d *decoder) refuseKey(key ast.MapKeyNode, path string) bool {
	if !key.IsMergeKey() {
		return d.refuse(key, path)
	}
	d.fault(key, strings.TrimPrefix(path+".<<", "."), "merge keys are not allowed, nor are anchors, aliases and tags: write the keys themselves")
	d.file.partly[path] = true
	return true
}

// pointee returns the target of a pointer, and allocates it if the pointer is nil.
func pointee(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return v.Elem()
}

// mapping decodes a struct, key by key.
func (d *decoder) mapping(node ast.Node, into reflect.Value, path string) {
	m, ok := node.(ast.MapNode)
	if !ok {
		d.fault(node, path, "is %s, must be a mapping", describe(node))
		return
	}
	fields := d.fields[into.Type()]
	if fields == nil {
		fields = fieldsOf(into.Type())
		d.fields[into.Type()] = fields
	}
	for it := m.MapRange(); it.Next(); {
		d.entry(it.KeyValue(), into, fields, path)
	}
}

func (d *decoder) entry(kv *ast.MappingValueNode, into reflect.Value, fields map[string][]int, path string) {
	if d.refuseKey(kv.Key, path) {
		return
	}
	key := keyOf(kv.Key)
	at := key
	if path != "" {
		at = path + "." + key
	}
	i, known := fields[key]
	if !known {
		if HasCredentials(key) {
			at = path
		}
		d.fault(kv.Key, at, "%s", unknown(key, fields))
		d.refuse(kv.Value, at)
		return
	}
	d.file.mark(at, kv.Key)
	if kv.Value != nil {
		d.decode(kv.Value, into.FieldByIndex(i), at)
	}
}

// table decodes a map from text, whose keys are free.
func (d *decoder) table(node ast.Node, into reflect.Value, path string) {
	m, ok := node.(ast.MapNode)
	if !ok {
		d.fault(node, path, "is %s, must be a mapping", describe(node))
		return
	}
	into.Set(reflect.MakeMap(into.Type()))
	for it := m.MapRange(); it.Next(); {
		kv := it.KeyValue()
		if d.refuseKey(kv.Key, path) {
			continue
		}
		key, at := keyOf(kv.Key), path+"."+keyOf(kv.Key)
		d.file.mark(at, kv.Key)
		value := reflect.New(into.Type().Elem()).Elem()
		if kv.Value != nil {
			d.decode(kv.Value, value, at)
		}
		into.SetMapIndex(reflect.ValueOf(key), value)
	}
}

// tree decodes a value whose keys are not known: mappings as map[string]any, lists as []any, and
// scalars as text, as they were written.
func (d *decoder) tree(node ast.Node, into reflect.Value, path string) {
	switch node.(type) {
	case ast.MapNode:
		m := map[string]any{}
		d.table(node, reflect.ValueOf(&m).Elem(), path)
		into.Set(reflect.ValueOf(m))
	case *ast.SequenceNode:
		var l []any
		d.list(node, reflect.ValueOf(&l).Elem(), path)
		into.Set(reflect.ValueOf(l))
	default:
		var s string
		d.scalar(node, reflect.ValueOf(&s).Elem(), path)
		into.Set(reflect.ValueOf(s))
	}
}

// keyOf returns a key as it was written. A key that is not a plain scalar matches no field.
func keyOf(key ast.MapKeyNode) string {
	if t := key.GetToken(); t != nil {
		return t.Value
	}
	return ""
}

func (d *decoder) list(node ast.Node, into reflect.Value, path string) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		d.fault(node, path, "is %s, must be a list", describe(node))
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(seq.Values), len(seq.Values)))
	for i, value := range seq.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.file.mark(at, value)
		d.decode(value, into.Index(i), at)
	}
}

func (d *decoder) scalar(node ast.Node, into reflect.Value, path string) {
	text, ok := textOf(node)
	if !ok {
		d.fault(node, path, "is %s, must be one value", describe(node))
		return
	}
	if hasTab(node) {
		d.fault(node, path, "has a tab, must be in single quotes then: quote the %s", path[strings.LastIndexAny(path, ".")+1:])
		return
	}
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](into.Addr()); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil {
			d.fault(node, path, "%v", err)
		}
		return
	}
	if allowed := set(into, node, text); allowed != "" {
		d.fault(node, path, "is %s, must be %s", Quote(text), allowed)
	}
}

// set sets a value of a plain type, or returns the allowed values.
func set(into reflect.Value, node ast.Node, text string) (allowed string) {
	switch into.Kind() {
	case reflect.String:
		into.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if _, isBool := node.(*ast.BoolNode); err != nil || !isBool {
			return "true or false"
		}
		into.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, into.Type().Bits())
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Sprintf("a whole number from %d to %d", math.MinInt64, math.MaxInt64)
		}
		if err != nil {
			return "a whole number"
		}
		into.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "a number"
		}
		into.SetFloat(f)
	default:
		panic(fmt.Sprintf("strictyaml: a %s is nothing that this package decodes", into.Type()))
	}
	return ""
}

// textOf returns a scalar as it was written, without its quotes.
func textOf(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return node.GetToken().Value, true
	}
	return "", false
}

func describe(node ast.Node) string {
	switch node.(type) {
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	}
	text, _ := textOf(node)
	return Quote(text)
}

// Quote quotes a value for an error and cuts it. It hides a value that may be a URL or a DSN with a
// password, which was written in the wrong place.
func Quote(s string) string {
	const most = 80
	if HasCredentials(s) {
		return "a text with credentials (not shown)"
	}
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
}

// HasCredentials reports whether a text may be a URL or a DSN with a user and a password, even if
// it is mistyped: it has a colon before an @.
func HasCredentials(s string) bool {
	before, _, ok := strings.Cut(s, "@")
	return ok && strings.Contains(before, ":")
}
