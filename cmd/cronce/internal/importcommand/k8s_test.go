package importcommand

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
)

func cronJobs(t *testing.T, o k8sOptions) (*result, map[string]config.Job) {
	t.Helper()
	data, err := os.ReadFile("testdata/cronjobs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o.zone = "UTC"
	r, err := readK8s("cronjobs.yaml", data, o)
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]config.Job{}
	for _, j := range accepted(t, r) {
		jobs[j.Name] = j
	}
	return r, jobs
}

// Each object is imported or named, with its line.
func TestCronJobs(t *testing.T) {
	r, jobs := cronJobs(t, k8sOptions{})
	if len(r.jobs) != 29 || len(jobs) != 21 || r.jobs[0].origin != "cronjobs.yaml:2" || r.jobs[28].origin == "" {
		t.Errorf("%d objects, %d imported, the first is %q", len(r.jobs), len(jobs), r.jobs[0].origin)
	}
	reasons := map[string]string{}
	for _, j := range r.refused() {
		reasons[j.name] = j.reason
	}
	for name, want := range map[string]string{
		"suspended": "is suspended", "badspec": "minute", "badzone": "zone", "policy": "Sometimes", "wrong-deadline": "startingDeadlineSeconds is \"soon\"", "settings": `"ConfigMap"`,
	} {
		if !strings.Contains(reasons[name], want) {
			t.Errorf("%s: %q, want %q", name, reasons[name], want)
		}
	}
	backup := jobs["shop.backup"]
	const create = `kubectl --namespace shop create job --from=cronjob/backup backup-"$(printf %s "$CRONCE_TICK" | tr -dc 0-9 | cut -c3-12)"`
	if backup.Exec == nil || backup.Exec.Shell != create || backup.Spec != "CRON_TZ=Europe/Berlin 0 3 * * *" || backup.Deadline == nil || time.Duration(*backup.Deadline) != 5*time.Minute {
		t.Errorf("%+v %+v", backup, backup.Exec)
	}
	if jobs["every"].Spec != "@every 90m" || jobs["zoned"].Spec != "TZ=Asia/Tokyo 0 9 * * 1-5" || jobs["team.listed"].Spec != "1 2 3 4 *" {
		t.Errorf("%q", []string{jobs["every"].Spec, jobs["zoned"].Spec, jobs["team.listed"].Spec})
	}
}

func TestCommandsOfContainers(t *testing.T) {
	r, jobs := cronJobs(t, k8sOptions{imageIsHere: true})
	for _, name := range []string{"indexed", "parallel", "entrypoint", "init", "sidecar"} {
		if !slices.ContainsFunc(r.refused(), func(j *job) bool { return j.name == name }) {
			t.Errorf("%s is not refused", name)
		}
	}
	e := jobs["no-retry"].Exec
	if e == nil || strings.Join(e.Command, "|") != "/bin/sh|-c|echo hello world, $(HOME) $(UNKNOWN)" || e.Dir != "/tmp" || jobs["no-retry"].Retry != nil {
		t.Errorf("%+v", e)
	}
	if j := jobs["limits"]; j.Retry == nil || j.Retry.Tries != 3 || j.Timeout == nil || time.Duration(*j.Timeout) != 10*time.Minute {
		t.Errorf("%+v", j)
	}
	if e := jobs["failures"].Exec; e == nil || !slices.Equal(e.Permanent, []int{42, 43}) {
		t.Errorf("%+v", e)
	}
	if e := jobs["secret"].Exec; e == nil || !slices.Equal(e.EnvFrom, []string{"PGPASSWORD"}) {
		t.Errorf("%+v", e)
	}
	if e := jobs["multi-line"].Exec; e == nil || !strings.HasSuffix(e.Command[2], "sed 's/a/b/'\necho done\n") {
		t.Errorf("%+v", e)
	}
}

// A container has the user and the group of its Pod where it names none of its own.
func TestUsersOfContainers(t *testing.T) {
	for _, c := range []struct{ pod, container, want string }{
		{"{runAsUser: 1, runAsGroup: 2}", "{}", "1:2"},
		{"{}", "{runAsUser: 12345}", "12345:"},
		{"{runAsUser: 1}", "{runAsUser: 12345, runAsGroup: 3}", "12345:3"},
		{"{runAsUser: 1, runAsGroup: 2}", "{runAsUser: 12345}", "12345:2"},
		{"{runAsUser: 1, runAsGroup: 2}", "{runAsGroup: 3}", "1:3"},
		{"{runAsGroup: 2}", "{}", ":2"},
		{"{}", "{}", ":"},
	} {
		text := "kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '0 3 * * *', jobTemplate: {spec: {template: {spec: {securityContext: " + c.pod +
			", containers: [{name: main, command: [id], securityContext: " + c.container + "}]}}}}}\n"
		r, err := readK8s("c.yaml", []byte(text), k8sOptions{zone: "UTC", imageIsHere: true})
		if err != nil {
			t.Fatal(err)
		}
		if j := r.jobs[0]; j.reason != "" || j.user+":"+j.group != c.want {
			t.Errorf("the Pod has %s, the container %s: %s:%s %s, want %s", c.pod, c.container, j.user, j.group, j.reason, c.want)
		}
	}
}

// A number of seconds is whole and positive. A configuration has no deadline of zero.
func TestSecondsOfCronJobs(t *testing.T) {
	for value, imported := range map[string]bool{"1": true, "60": true, "0": false, "-1": false, "1.5": false, "3000000000": false} {
		text := "kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '0 3 * * *', startingDeadlineSeconds: " + value + "}\n"
		r, err := readK8s("c.yaml", []byte(text), k8sOptions{zone: "UTC"})
		if err != nil {
			t.Fatal(err)
		}
		if j := r.jobs[0]; (j.reason == "") != imported || !imported && !strings.HasPrefix(j.reason, "startingDeadlineSeconds is "+`"`+value) {
			t.Errorf("%s seconds: %q", value, j.reason)
		}
	}
}

func TestJSON(t *testing.T) {
	const list = `{"kind": "CronJobList", "items": [{"kind": "CronJob", "metadata": {"name": "a"},
		"spec": {"schedule": "0 3 * * *", "suspend": false, "startingDeadlineSeconds": 60}}]}`
	r, err := readK8s("c.json", []byte(list), k8sOptions{zone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	if j := accepted(t, r)["c.json, items[0]"]; j.Name != "a" || j.Deadline == nil || time.Duration(*j.Deadline) != time.Minute {
		t.Errorf("%+v", j)
	}
}

// A fault of the YAML has the line of the file, not the line of its document.
func TestNoYAML(t *testing.T) {
	_, err := readK8s("c.yaml", []byte("kind: CronJob\n---\nkind: CronJob\nspec: [\n"), k8sOptions{zone: "UTC"})
	if err == nil || !strings.HasPrefix(err.Error(), "c.yaml:4:") {
		t.Error(err)
	}
}

func FuzzK8s(f *testing.F) {
	data, err := os.ReadFile("testdata/cronjobs.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, part := range split(data) {
		f.Add(part, true)
		f.Add(part, false)
	}
	f.Add([]byte(`{"kind": "List", "items": [1, {"kind": "CronJob", "metadata": 3}]}`), true)
	f.Fuzz(func(t *testing.T, data []byte, here bool) {
		r, err := readK8s("c", data, k8sOptions{zone: "UTC", imageIsHere: here})
		if err != nil {
			return
		}
		again(t, r)
	})
}
