package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
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
	deployment struct {
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
	budget struct {
		Kind string
		Spec struct {
			MaxUnavailable int `yaml:"maxUnavailable"`
			Selector       struct {
				MatchLabels map[string]string `yaml:"matchLabels"`
			}
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
				Secret struct{ Name, Key string } `yaml:"secretKeyRef"`
			} `yaml:"valueFrom"`
		}
		Ports []struct {
			Name string
			Port int `yaml:"containerPort"`
		}
		Liveness        probe `yaml:"livenessProbe"`
		Readiness       probe `yaml:"readinessProbe"`
		SecurityContext struct {
			Escalation bool `yaml:"allowPrivilegeEscalation"`
			ReadOnly   bool `yaml:"readOnlyRootFilesystem"`
		} `yaml:"securityContext"`
	}
	Volumes []struct {
		ConfigMap struct{ Name string } `yaml:"configMap"`
	}
}

type probe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

func readManifests(t *testing.T) (m manifests) {
	t.Helper()
	manifest(t, "deploy/kubernetes/configmap.yaml", &m.config)
	manifest(t, "deploy/kubernetes/deployment.yaml", &m.deployment)
	manifest(t, "deploy/kubernetes/poddisruptionbudget.yaml", &m.budget)
	return m
}

// The nodes' configuration is fine, and their drain fits into the pod's grace.
func TestKubernetesGrace(t *testing.T) {
	m := readManifests(t)
	c, err := nodeConfig(t, "--config", file(t, "config.yaml", m.config.Data["config.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	holdsDrain(t, c, time.Duration(m.deployment.Spec.Template.Spec.Grace)*time.Second)
}

// holdsDrain leaves some seconds for the end of requests beyond the two graces.
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

func TestCompose(t *testing.T) {
	var compose struct {
		Services map[string]struct {
			Grace       string `yaml:"stop_grace_period"`
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
	c, err := nodeConfig(t, "--config", exampleFile) // which it mounts
	if err != nil {
		t.Fatal(err)
	}
	holdsDrain(t, c, grace)
	if redis := strings.Join(compose.Services["redis"].Command, " "); !strings.Contains(redis, "--appendonly yes") || !strings.Contains(redis, "noeviction") {
		t.Errorf("redis forgets: %s", redis)
	}
	if check := node.Health.Test; len(check) < 3 || check[0] != "CMD" || check[1] != "/cronce" {
		t.Errorf("health check %q: the image has nothing but /cronce", check)
	} else if cmd, _, err := rootCommand(new(bool)).Find(check[2:]); err != nil || cmd.Name() != "healthcheck" {
		t.Errorf("health check %q: %v", check, err)
	}
	if _, asks := node.Environment[config.PasswordEnv]; asks {
		t.Error("the nodes have a password that the Redis does not ask for")
	}
}
