package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/cronce/cronce/cmd/internal/config"
)

// manifest reads a YAML file of the repository into a value.
func manifest(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

type manifests struct {
	config struct {
		Metadata struct{ Name string }
		Data     map[string]string
	}
	deployment, ops deployment
	budget          struct {
		Kind string
		Spec struct {
			MaxUnavailable int `yaml:"maxUnavailable"`
			Selector       struct {
				MatchLabels map[string]string `yaml:"matchLabels"`
			}
		}
	}
}

type deployment struct {
	Kind string
	Spec struct {
		Replicas int
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     podSpec
		}
	}
}

type podSpec struct {
	Grace           int `yaml:"terminationGracePeriodSeconds"`
	SecurityContext struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
	} `yaml:"securityContext"`
	Containers []struct {
		Image string
		Args  []string
		Env   []struct {
			Name      string
			Value     string
			ValueFrom struct {
				Secret struct {
					Name, Key string
					Optional  bool
				} `yaml:"secretKeyRef"`
			} `yaml:"valueFrom"`
		}
		Ports []struct {
			Name string
			Port int `yaml:"containerPort"`
		}
		Liveness  probe `yaml:"livenessProbe"`
		Readiness probe `yaml:"readinessProbe"`
		Mounts    []struct {
			Path string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
		SecurityContext struct {
			Escalation bool `yaml:"allowPrivilegeEscalation"`
			ReadOnly   bool `yaml:"readOnlyRootFilesystem"`
		} `yaml:"securityContext"`
	}
	Volumes []struct {
		ConfigMap struct{ Name string } `yaml:"configMap"`
		Secret    struct {
			Name string `yaml:"secretName"`
		}
	}
}

type probe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

func readManifests(t *testing.T) (m manifests) {
	t.Helper()
	manifest(t, "deploy/kubernetes/configmap.yaml", &m.config)
	manifest(t, "deploy/kubernetes/deployment.yaml", &m.deployment)
	manifest(t, "deploy/kubernetes/ops.yaml", &m.ops)
	manifest(t, "deploy/kubernetes/poddisruptionbudget.yaml", &m.budget)
	return m
}

// The nodes' configuration is valid, and their drain fits into the pod's grace.
func TestKubernetesGrace(t *testing.T) {
	m := readManifests(t)
	c, err := nodeConfig(t, "--config", file(t, "config.yaml", m.config.Data["config.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	holdsDrain(t, c, time.Duration(m.deployment.Spec.Template.Spec.Grace)*time.Second)
}

// holdsDrain checks that the grace leaves some seconds for the end of requests beyond the two
// graces.
func holdsDrain(t *testing.T, c *config.Config, grace time.Duration) {
	t.Helper()
	if drain := time.Duration(c.Scheduler.Grace + c.Scheduler.CancelGrace); grace < drain+5*time.Second {
		t.Errorf("killed after %v, but a drain may take %v", grace, drain)
	}
}

func TestKubernetesDeployment(t *testing.T) {
	m := readManifests(t)
	pod := &m.deployment.Spec.Template.Spec
	if m.deployment.Spec.Replicas < 2 || m.budget.Spec.MaxUnavailable >= m.deployment.Spec.Replicas || !pod.SecurityContext.RunAsNonRoot || len(pod.Containers) != 1 {
		t.Fatalf("%+v", m)
	}
	for key, value := range m.deployment.Spec.Selector.MatchLabels {
		if m.deployment.Spec.Template.Metadata.Labels[key] != value || m.budget.Spec.Selector.MatchLabels[key] != value {
			t.Errorf("label %s differs", key)
		}
	}
	node := pod.Containers[0]
	if node.Liveness.Get.Path != "/healthz" || node.Readiness.Get.Path != "/readyz" || node.SecurityContext.Escalation || !node.SecurityContext.ReadOnly ||
		strings.Join(node.Args, " ") != "node" || pod.Volumes[0].ConfigMap.Name != m.config.Metadata.Name {
		t.Errorf("%+v", node)
	}
	if port := node.Ports[0]; node.Liveness.Get.Port != port.Name || node.Readiness.Get.Port != port.Name || !strings.Contains(m.config.Data["config.yaml"], ":8080") || port.Port != 8080 {
		t.Errorf("ports: %+v", node)
	}
	known := map[string]bool{config.FileEnv: true, config.PasswordEnv: true}
	for _, o := range config.NodeOverrides {
		known[o.Env] = true
	}
	for _, e := range node.Env {
		if !known[e.Name] {
			t.Errorf("cronce reads no %s", e.Name)
		}
		if e.Name == config.PasswordEnv && (e.Value != "" || e.ValueFrom.Secret.Name == "") {
			t.Error("the password is no reference to a Secret")
		}
	}
}

// The pods of the plane serve the configured address, with files of a Secret, and are not selected
// as pods of nodes.
func TestKubernetesOps(t *testing.T) {
	m := readManifests(t)
	c, err := nodeConfig(t, "--config", file(t, "config.yaml", m.config.Data["config.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	pod := &m.ops.Spec.Template.Spec
	holdsDrain(t, c, time.Duration(pod.Grace)*time.Second)
	ops := pod.Containers[0]
	if ops.Liveness.Get.Path != "/healthz" || ops.Readiness.Get.Path != "/readyz" || ops.Liveness.Get.Port != ops.Ports[0].Name || strings.Join(ops.Args, " ") != "ops" ||
		!pod.SecurityContext.RunAsNonRoot || !ops.SecurityContext.ReadOnly || ops.Image != m.deployment.Spec.Template.Spec.Containers[0].Image {
		t.Errorf("%+v", pod)
	}
	if c.Ops == nil || c.Ops.Address != fmt.Sprintf(":%d", ops.Ports[0].Port) || !slices.Contains(c.Ops.Hosts, "cronce-ops") {
		t.Errorf("port %d, configuration %+v", ops.Ports[0].Port, c.Ops)
	} else if secrets := ops.Mounts[1].Path; pod.Volumes[1].Secret.Name == "" || path.Dir(c.Ops.TokensFile) != secrets || path.Dir(c.Ops.SessionKeyFile) != secrets {
		t.Errorf("the Secret is at %s, the configuration reads %+v", secrets, c.Ops)
	}
	var given []string
	for _, e := range ops.Env {
		if secret := e.ValueFrom.Secret; secret.Name == pod.Volumes[1].Secret.Name && secret.Optional {
			given = append(given, e.Name)
		}
	}
	sendsAlerts(t, m.config.Data["config.yaml"], given)
	const component = "app.kubernetes.io/component"
	if nodes, planes := m.deployment.Spec.Selector.MatchLabels[component], m.ops.Spec.Selector.MatchLabels[component]; nodes != "node" || planes != "ops" || m.ops.Spec.Template.Metadata.Labels[component] != planes {
		t.Errorf("the selectors %s and %s", nodes, planes)
	}
}

// sendsAlerts checks that a configuration without the comments on its receivers of alerts is valid,
// and that the variables it then needs are given.
func sendsAlerts(t *testing.T, text string, given []string) {
	t.Helper()
	off := strings.NewReplacer("# heartbeat: ", "heartbeat: ", "# webhook: ", "webhook: ", "$$", "$")
	c, err := nodeConfig(t, "--config", file(t, "config.yaml", off.Replace(text)))
	if err != nil {
		t.Fatal(err)
	}
	if c.Ops.Heartbeat == nil || c.Ops.Webhook == nil {
		t.Fatalf("no receivers: %+v", c.Ops)
	}
	for _, name := range given {
		t.Setenv(name, "https://alerts.example.com/hook")
	}
	heartbeat, err := c.OpsHeartbeatURL()
	webhook, err2 := c.OpsWebhookURL()
	_, err3 := c.OpsWebhookSecret()
	if err := errors.Join(err, err2, err3); err != nil || heartbeat != webhook || len(given) != 3 {
		t.Errorf("%v: the plane is given %q", err, given)
	}
}

func TestCompose(t *testing.T) {
	var compose struct {
		Configs  map[string]struct{ Content string }
		Services map[string]struct {
			Grace       string `yaml:"stop_grace_period"`
			Ports       []string
			Deploy      struct{ Replicas int }
			Environment map[string]string
			Command     []string
			Health      struct{ Test []string } `yaml:"healthcheck"`
		}
	}
	manifest(t, "deploy/compose.yaml", &compose)
	node := compose.Services["node"]
	grace, err := time.ParseDuration(node.Grace)
	if err != nil || node.Deploy.Replicas < 2 || node.Environment["CRONCE_REDIS_URL"] == "" {
		t.Fatalf("%v: %+v", err, node)
	}
	c, err := nodeConfig(t, "--config", exampleFile) // the file that it mounts
	if err != nil {
		t.Fatal(err)
	}
	holdsDrain(t, c, grace)
	if redis := strings.Join(compose.Services["redis"].Command, " "); !strings.Contains(redis, "--appendonly yes") || !strings.Contains(redis, "noeviction") {
		t.Errorf("redis forgets: %s", redis)
	}
	for name, service := range compose.Services {
		if check := service.Health.Test; len(check) < 3 || check[0] != "CMD" || name != "redis" && check[1] != "/cronce" {
			t.Errorf("health check %q: the image has nothing but /cronce", check)
		} else if cmd, _, err := rootCommand().Find(check[2:]); name != "redis" && (err != nil || cmd.CommandPath() != "cronce node health") {
			t.Errorf("health check %q: %v", check, err)
		}
	}
	configuration := compose.Configs["ops"].Content + "jobs: [{kind: sleep, name: a, spec: \"@daily\"}]\n"
	ops, err := nodeConfig(t, "--config", file(t, "config.yaml", configuration))
	if ports := compose.Services["ops"].Ports; err != nil || len(ports) != 1 || ports[0] != "127.0.0.1:8090"+ops.Ops.Address {
		t.Errorf("%v: published ports %q", err, ports)
	}
	environment := compose.Services["ops"].Environment
	delete(environment, "CRONCE_REDIS_URL")
	sendsAlerts(t, configuration, slices.Collect(maps.Keys(environment)))
	if compose := repositoryFile(t, "deploy/compose.yaml"); strings.Count(compose, "${") != strings.Count(compose, "$${") {
		t.Error("compose replaces a variable of the configuration, so that the container shows its value")
	}
	if _, asks := node.Environment[config.PasswordEnv]; asks {
		t.Error("the nodes have a password that the Redis does not ask for")
	}
}
