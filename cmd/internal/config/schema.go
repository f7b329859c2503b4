package config

import (
	"maps"
	"reflect"
)

// choices has the allowed texts of types whose values have names.
var choices = map[reflect.Type][]string{
	reflect.TypeFor[overlap]():     overlaps,
	reflect.TypeFor[misfire]():     misfires,
	reflect.TypeFor[takeover]():    takeovers,
	reflect.TypeFor[interrupted](): interruptions,
	reflect.TypeFor[shardFail]():   shardFails,
	reflect.TypeFor[runLog]():      runLogs,
}

// Schema returns a JSON Schema (draft 2020-12) of the file, for editors. It has the keys and the
// types of their values. It does not contain rules that only a check can apply.
func Schema() map[string]any {
	s := schemaOf(reflect.TypeFor[Config]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "configuration of cronce"
	return s
}

// schemaOf returns the schema of a type. Each value may be empty, as in a section whose keys are
// all commented out.
func schemaOf(t reflect.Type) map[string]any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if names, ok := choices[t]; ok {
		return map[string]any{"enum": append([]any{nil}, anys(names)...)}
	}
	if t == reflect.TypeFor[Duration]() {
		return map[string]any{"anyOf": []any{map[string]any{"type": []any{"string", "null"}, "pattern": durationPattern.String()}, map[string]any{"const": 0}}}
	}
	s := map[string]any{}
	kind := ""
	switch t.Kind() {
	case reflect.Struct:
		kind = "object"
		properties := map[string]any{}
		for f := range t.Fields() {
			if key := f.Tag.Get("yaml"); key != "" {
				properties[key] = schemaOf(f.Type)
			} else if f.Anonymous { // its keys belong to the section around it
				maps.Copy(properties, schemaOf(f.Type)["properties"].(map[string]any))
			}
		}
		s["properties"], s["additionalProperties"] = properties, false
	case reflect.Slice:
		kind = "array"
		s["items"] = schemaOf(t.Elem())
	case reflect.Map:
		kind = "object"
		s["additionalProperties"] = schemaOf(t.Elem())
	case reflect.Bool:
		kind = "boolean"
	case reflect.Int, reflect.Int64:
		kind = "integer"
	case reflect.Float64:
		kind = "number"
	default: // a text, which YAML may read as a number: umask 027, year 2027
		s["type"] = []any{"string", "number", "boolean", "null"}
		return s
	}
	s["type"] = []any{kind, "null"}
	return s
}

func anys(texts []string) (all []any) {
	for _, t := range texts {
		all = append(all, t)
	}
	return all
}
