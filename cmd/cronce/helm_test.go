package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
)

// helm has the functions of Helm that the chart uses; it uses no others, so that this test can
// render it.
var helm = template.FuncMap{
	"toYaml": func(v any) (string, error) {
		text, err := yaml.Marshal(v)
		return strings.TrimSuffix(string(text), "\n"), err
	},
	"nindent": func(n int, text string) string {
		indent := "\n" + strings.Repeat(" ", n)
		return indent + strings.ReplaceAll(text, "\n", indent)
	},
	"quote": func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
	"default": func(otherwise, v any) any {
		if v == nil || reflect.ValueOf(v).IsZero() {
			return otherwise
		}
		return v
	},
	"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
}

// An object is an object of Kubernetes, as in YAML.
type object = map[string]any

// objects reads the objects of a YAML text by kind and name.
func objects(t *testing.T, text string, into map[string]object) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if o != nil {
			into[fmt.Sprint(o["kind"], "/", at(o, "metadata", "name"))] = o
		}
	}
}

// at returns the value at a path of names and numbers.
func at(v any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			m, _ := v.(object)
			v = m[key]
		case int:
			list, _ := v.([]any)
			if key >= len(list) {
				return nil
			}
			v = list[key]
		}
	}
	return v
}

// render renders the chart with its values, overridden by the values of another file.
func render(t *testing.T, name, values string) map[string]object {
	t.Helper()
	var chart, v, over object
	manifest(t, "deploy/helm/cronce/Chart.yaml", &chart)
	manifest(t, "deploy/helm/cronce/values.yaml", &v)
	if err := yaml.Unmarshal([]byte(values), &over); err != nil {
		t.Fatal(err)
	}
	merge(t, v, over)
	paths, err := filepath.Glob("../../deploy/helm/cronce/templates/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	all := map[string]object{}
	for _, path := range paths {
		page, err := template.New(filepath.Base(path)).Option("missingkey=error").Funcs(helm).ParseFiles(path)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := page.Execute(&out, object{"Values": v, "Release": object{"Name": name}, "Chart": object{"AppVersion": chart["appVersion"]}}); err != nil {
			t.Fatal(err)
		}
		objects(t, out.String(), all)
	}
	return all
}

// merge overrides values, as Helm does; the chart has each key.
func merge(t *testing.T, into, over object) {
	t.Helper()
	for key, value := range over {
		if _, known := into[key]; !known {
			t.Fatalf("the chart has no value %s", key)
		}
		inner, deep := into[key].(object)
		if outer, is := value.(object); is && deep && len(inner) > 0 {
			merge(t, inner, outer)
			continue
		}
		into[key] = value
	}
}

// The chart with its defaults and the plane makes the same objects as the manifests, so tests of the manifests
// cover it.
func TestHelmMakesTheManifests(t *testing.T) {
	t.Parallel()
	want := map[string]object{}
	var resources struct{ Resources []string }
	manifest(t, "deploy/kubernetes/kustomization.yaml", &resources)
	for _, name := range resources.Resources {
		objects(t, repositoryFile(t, "deploy/kubernetes/"+name), want)
	}
	got := render(t, "cronce", "ops: {enabled: true}")
	for name, o := range got {
		if strings.HasPrefix(name, "Deployment/") { // only the chart has it, and its text is the chart's
			delete(at(o, "spec", "template", "metadata").(object), "annotations")
			delete(at(o, "spec", "template", "spec", "containers", 0).(object), "imagePullPolicy")
		}
		if !reflect.DeepEqual(o, want[name]) {
			t.Errorf("%s of the chart:\n%v\nof the manifests:\n%v", name, o, want[name])
		}
	}
	if len(got) != len(want) || len(got) != 5 {
		t.Errorf("%d objects of the chart, %d of the manifests", len(got), len(want))
	}
}

// Values reach the objects, and two releases in one namespace share nothing.
func TestHelmValues(t *testing.T) {
	t.Parallel()
	got := render(t, "shop", `
image: {tag: v9.8.7}
replicas: 7
config: "namespace: shop\n"
terminationGracePeriodSeconds: 90
redis: {secret: shop-redis}
env: [{name: PGPASSWORD, valueFrom: {secretKeyRef: {name: pg, key: password}}}]
nodeSelector: {disk: ssd}
tolerations: [{key: spot, operator: Exists}]
`)
	node := got["Deployment/shop"]
	pod := at(node, "spec", "template", "spec")
	container := at(pod, "containers", 0)
	for path, values := range map[string][2]any{
		"replicas":  {at(node, "spec", "replicas"), uint64(7)},
		"grace":     {at(pod, "terminationGracePeriodSeconds"), uint64(90)},
		"image":     {at(container, "image"), "ghcr.io/cronce/cronce:v9.8.7"},
		"secret":    {at(container, "env", 2, "valueFrom", "secretKeyRef", "name"), "shop-redis"},
		"env":       {at(container, "env", 3, "valueFrom", "secretKeyRef", "key"), "password"},
		"selector":  {at(pod, "nodeSelector", "disk"), "ssd"},
		"tolerates": {at(pod, "tolerations", 0, "operator"), "Exists"},
		"volume":    {at(pod, "volumes", 0, "configMap", "name"), "shop"},
		"config":    {at(got["ConfigMap/shop"], "data", "config.yaml"), "namespace: shop\n"},
		"instance":  {at(node, "spec", "selector", "matchLabels", "app.kubernetes.io/instance"), "shop"},
		"budget":    {at(got["PodDisruptionBudget/shop"], "spec", "selector", "matchLabels", "app.kubernetes.io/instance"), "shop"},
	} {
		if values[0] != values[1] {
			t.Errorf("%s is %v, want %v", path, values[0], values[1])
		}
	}
	if len(got) != 3 {
		t.Errorf("%d objects without ops", len(got))
	}
	plane := render(t, "shop", "ops: {enabled: true, replicas: 3, secret: shop-ops}")["Deployment/shop-ops"]
	pod = at(plane, "spec", "template", "spec")
	if tokens, hook := at(pod, "volumes", 1, "secret", "secretName"), at(pod, "containers", 0, "env", 3, "valueFrom", "secretKeyRef", "name"); at(plane, "spec", "replicas") != uint64(3) || tokens != "shop-ops" || hook != tokens {
		t.Errorf("replicas or Secret of the plane: %v", plane)
	}
	before := at(render(t, "shop", "")["Deployment/shop"], "spec", "template", "metadata", "annotations", "checksum/config")
	if after := at(node, "spec", "template", "metadata", "annotations", "checksum/config"); before == nil || before == after {
		t.Errorf("a changed configuration leaves the pods: %v, %v", before, after)
	}
}
