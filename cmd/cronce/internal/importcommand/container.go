package importcommand

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// container sets the command of the container of a Job, and the policies that have a counterpart.
func (j *job) container(template any) {
	pod := get(template, "template", "spec")
	containers := list(pod, "containers")
	for _, key := range []string{"completions", "parallelism"} {
		if n := text(template, key); n != "" && n != "1" {
			j.refuse("%s is %s: a tick is one run", key, n)
			return
		}
	}
	switch {
	case text(template, "completionMode") == "Indexed":
		j.refuse("completionMode is Indexed: a tick is one run")
		return
	case len(containers) != 1 || len(list(pod, "initContainers")) > 0:
		j.refuse("has %d containers and %d initContainers, must have one container", len(containers), len(list(pod, "initContainers")))
		return
	}
	c := containers[0]
	j.variables(c)
	for _, key := range []string{"command", "args"} {
		for _, arg := range list(c, key) {
			j.command = append(j.command, expand(scalar(arg), j.env))
		}
	}
	if len(list(c, "command")) == 0 {
		j.refuse("has no command, and the command of the image %s is not known", text(c, "image"))
		return
	}
	j.dir = text(c, "workingDir")
	for _, at := range []any{c, pod} { // each setting of the container wins, for itself
		j.user = cmp.Or(j.user, text(at, "securityContext", "runAsUser"))
		j.group = cmp.Or(j.group, text(at, "securityContext", "runAsGroup"))
	}
	j.policies(template, pod)
	if len(list(pod, "volumes")) > 0 || len(list(c, "volumeMounts")) > 0 {
		j.note("has volumes: mount them into the nodes")
	}
	if get(c, "resources", "limits") != nil {
		j.note("the limits of resources of the node's container apply")
	}
}

// policies sets timeout, tries and exit codes.
func (j *job) policies(template, pod any) {
	for _, at := range []any{template, pod} {
		if j.seconds("timeout", at, "activeDeadlineSeconds") {
			break
		}
	}
	limit := 6 // the default of Kubernetes
	if v := text(template, "backoffLimit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			j.refuse("backoffLimit is %q", v)
			return
		}
		limit = n
	}
	if limit > 0 {
		j.set("retry", fmt.Sprintf("{tries: %d, wait: 10s, max: 6m}", limit+1))
	}
	for _, rule := range list(template, "podFailurePolicy", "rules") {
		codes := get(rule, "onExitCodes")
		if text(rule, "action") != "FailJob" || text(codes, "operator") != "In" {
			j.note("a rule of podFailurePolicy (%s) is not taken over", text(rule, "action"))
			continue
		}
		for _, code := range list(codes, "values") {
			j.permanent = append(j.permanent, scalar(code))
		}
	}
	for _, code := range j.permanent {
		if n, err := number(code); err != nil || n < 1 || n > 255 {
			j.refuse("an exit code of podFailurePolicy is %q", code)
		}
	}
}

// variables sets the environment of a container. Secrets come from the environment of the node.
func (j *job) variables(container any) {
	j.env = map[string]string{}
	for _, v := range list(container, "env") {
		name := text(v, "name")
		if from := get(v, "valueFrom"); from != nil {
			j.envFrom = append(j.envFrom, name)
			j.note("%s comes from the environment of the node (it was a %s)", name, kindOf(from))
			continue
		}
		j.env[name] = expand(text(v, "value"), j.env)
	}
	if len(list(container, "envFrom")) > 0 {
		j.note("has envFrom: name its variables in env_from, or give them in an env_file")
	}
}

// kindOf returns the only key of a valueFrom, such as secretKeyRef.
func kindOf(from any) string {
	if m, ok := from.(map[string]any); ok && len(m) == 1 {
		for key := range m {
			return key
		}
	}
	return "reference"
}

func scalar(v any) string { return text(map[string]any{"": v}, "") }

// expand replaces $(NAME) by the known values, and $$ by $, as Kubernetes does.
func expand(s string, env map[string]string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		s = after
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		value, known := env[name]
		switch {
		case strings.HasPrefix(after, "$"):
			s = after[1:]
			b.WriteByte('$')
		case strings.HasPrefix(after, "(") && closed && known:
			s = rest
			b.WriteString(value)
		default:
			b.WriteByte('$')
		}
	}
}
