package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// The first file passes the check, also with all of its keys, and never overwrites another one.
func TestInit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "first.yaml")
	if r := cronce(t, "config", "init", name); r.code != exit.Fine {
		t.Fatal(r.code, r.stderr)
	}
	if r := cronce(t, "node", "--config", name, "--check"); r.code != exit.Fine || !strings.Contains(r.stdout, "hello") {
		t.Errorf("%d %s %s", r.code, r.stdout, r.stderr)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all := uncommented(string(text))
	if r := cronce(t, "node", "--config", file(t, "all.yaml", all), "--check"); r.code != exit.Fine {
		t.Errorf("with all keys: %d %s", r.code, r.stderr)
	}
	if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := cronce(t, "config", "init", name); r.code != exit.Refused || !strings.Contains(r.stderr, "is there already") {
		t.Errorf("%d %s", r.code, r.stderr)
	}
	if text, _ := os.ReadFile(name); string(text) != "mine" {
		t.Errorf("the file is %q", text)
	}
}

type schema map[string]any

func printedSchema(t *testing.T) schema {
	t.Helper()
	r := cronce(t, "config", "schema")
	var s schema
	if err := json.Unmarshal([]byte(r.stdout), &s); r.code != exit.Fine || err != nil {
		t.Fatal(r.code, err, r.stderr)
	}
	return s
}

// Each key of the example, with all of its comments, is in the schema.
func TestSchemaAcceptsTheExample(t *testing.T) {
	text, err := os.ReadFile("../../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := printedSchema(t)
	for name, text := range map[string]string{"config.yaml": string(text), "with all keys": uncommented(string(text)), "init.yaml": string(firstFile)} {
		var tree any
		if _, err := strictyaml.Decode(name, []byte(text), &tree); err != nil {
			t.Fatal(err)
		}
		for _, fault := range s.faults(name, tree) {
			t.Error(fault)
		}
	}
}

// The schema refuses the same values as the parser.
func TestSchemaRefuses(t *testing.T) {
	s := printedSchema(t)
	for _, text := range []string{"nam: a", "redis: 7", "jobs: {}", "jobs: [{overlap: never}]", "jobs: [{lease: 30}]", "redis: {db: many}", "redis: {strict: maybe}", "jobs: [{exec: {comand: [a]}}]"} {
		var tree any
		if _, err := strictyaml.Decode("c", []byte(text), &tree); err != nil {
			t.Fatal(err)
		}
		if len(s.faults("c", tree)) == 0 {
			t.Errorf("%s is accepted", text)
		}
	}
}

// faults walks a tree, whose scalars are texts, along the schema.
func (s schema) faults(at string, value any) (faults []string) {
	if value == nil {
		return nil
	}
	if either, ok := s["anyOf"].([]any); ok {
		return schema(either[0].(map[string]any)).faults(at, value)
	}
	if names, ok := s["enum"].([]any); ok {
		if !slices.Contains(names, value) {
			return []string{at + ": is none of the names"}
		}
		return nil
	}
	is := func(kind string) bool { return slices.Contains(s["type"].([]any), any(kind)) }
	switch v := value.(type) {
	case map[string]any:
		if !is("object") {
			return []string{at + ": is a mapping"}
		}
		properties, _ := s["properties"].(map[string]any)
		other, _ := s["additionalProperties"].(map[string]any)
		for key, below := range v {
			p, ok := properties[key].(map[string]any)
			if !ok {
				p = other
			}
			if p == nil {
				faults = append(faults, at+"."+key+": is not known")
				continue
			}
			faults = append(faults, schema(p).faults(at+"."+key, below)...)
		}
	case []any:
		if !is("array") {
			return []string{at + ": is a list"}
		}
		for _, item := range v {
			faults = append(faults, schema(s["items"].(map[string]any)).faults(at+"[]", item)...)
		}
	case string:
		_, number := strconv.Atoi(v)
		_, fraction := strconv.ParseFloat(v, 64)
		_, boolean := strconv.ParseBool(v)
		pattern, _ := s["pattern"].(string)
		if !(is("string") && regexp.MustCompile(pattern).MatchString(v) || is("integer") && number == nil || is("number") && fraction == nil || is("boolean") && boolean == nil) {
			return []string{at + ": is " + v}
		}
	}
	return faults
}

var commentedKey = regexp.MustCompile(`(?m)^( *)# ( *(?:# )?(?:- )?[a-z_]+:(?: .*)?)$`)

// uncommented returns a file with the keys in its comments.
func uncommented(text string) string {
	for commentedKey.MatchString(text) {
		text = commentedKey.ReplaceAllString(text, "$1$2")
	}
	return text
}
