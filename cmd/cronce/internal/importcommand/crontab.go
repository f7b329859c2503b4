package importcommand

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/scheduler/spec"
)

type crontabOptions struct {
	zone        string
	zoneFound   bool // it was detected on this machine
	system      bool
	systemGiven bool
}

// maxCronLine bounds a line, in bytes: in YAML its text may become six times as long.
const maxCronLine = 8 << 10

// A crontab is the state while a crontab is read: settings of earlier lines that affect later ones.
type crontab struct {
	result
	options crontabOptions
	env     map[string]string
	shell   string
	prefix  string // CRON_TZ=… to put before specs
	zone    *time.Location
	delay   time.Duration // RANDOM_DELAY
}

// readCrontab reads a crontab of Vixie's cron, of cronie, or of OpenBSD.
func readCrontab(name string, data []byte, o crontabOptions) *result {
	lines := strings.Split(string(data), "\n")
	if !o.systemGiven {
		o.system = hasUsers(name, lines)
	}
	zone, _ := config.ParseZone(o.zone)
	c := &crontab{result: result{source: "the crontab " + name, zone: o.zone}, options: o, env: map[string]string{}, zone: zone}
	c.head()
	for i, line := range lines {
		line = strings.Trim(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		j := job{origin: fmt.Sprintf("%s:%d", name, i+1), text: cut(line)}
		switch {
		case len(line) > maxCronLine:
			j.refuse("the line has %d bytes, must be up to %d", len(line), maxCronLine)
		case !utf8.ValidString(line):
			j.refuse("is no UTF-8")
		default:
			if m := variableLine.FindStringSubmatch(line); m != nil {
				if reason := c.variable(j.origin, unquote(m[1]), unquote(m[2])); reason == "" {
					continue
				} else {
					j.reason = reason
				}
				break
			}
			c.entry(&j, line)
		}
		c.jobs = append(c.jobs, j)
	}
	return &c.result
}

// head adds the remarks that apply to every crontab.
func (c *crontab) head() {
	c.note("a line that was in the crontabs of several machines runs on one of them now")
	if c.options.zoneFound {
		c.note("the zone %s is the zone of this machine: --zone sets another one", c.options.zone)
	}
	c.note("overlap is allow and the deadline 1m, as cron runs commands beside each other and nothing late: overlap skip and no deadline are better for most commands")
	c.note("commands have the PATH of the node, where cron has /usr/bin:/bin, and begin in its working directory, where cron begins in the home directory")
	if c.options.system {
		c.note("the sixth column is read as a user: --system=false if it is the command")
	}
	if changes := zoneChanges(c.zone, time.Now()); len(changes) > 0 {
		var at []string
		for _, t := range changes {
			at = append(at, t.Format("2006-01-02 15:04 -0700"))
		}
		c.note("the clock of %s changes at %s: a fixed time in the gap runs at its end, a repeated one once, and specs with * or / follow elapsed time; crons differ (cronce next SPEC --tz %s prints it)", c.options.zone, strings.Join(at, " and "), c.options.zone)
	}
}

var (
	variableLine = regexp.MustCompile(`^("[^"]*"|'[^']*'|[^\s=]+)\s*=\s*(.*)$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// variable reads name=value, which affects all later lines. It returns a reason if it has no
// effect.
func (c *crontab) variable(origin, name, value string) (reason string) {
	switch name {
	case "SHELL":
		c.shell = value
		return ""
	case "CRON_TZ":
		if _, err := config.ParseZone(value); err != nil || value == "" {
			return fmt.Sprintf("the zone %v: later lines are in the zone before", cmp.Or(err, errors.New("is empty")))
		}
		c.prefix = "CRON_TZ=" + value + " "
		return ""
	case "RANDOM_DELAY":
		minutes, err := number(value)
		if err != nil {
			return "must be a number of minutes"
		}
		c.delay = time.Duration(minutes) * time.Minute
		return ""
	case "MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING":
		if value != "" {
			c.note("%s: %s: no mail is sent; the last line of a failed run is its error in cronce runs, and log: true logs all lines", origin, name)
		}
		return ""
	case "START_HOURS_RANGE":
		return "is for anacron, which runs missed ticks: misfire once does so, at any hour"
	case "LOGNAME":
		return "cron itself does not let it be set"
	case "TZ":
		c.note("%s: TZ is for the commands; CRON_TZ or --zone is for their times", origin)
	}
	switch {
	case !variableName.MatchString(name):
		return "is neither a variable nor five fields and a command"
	case strings.HasPrefix(name, "CRONCE_"):
		return "names that begin with CRONCE_ belong to cronce"
	}
	c.env[name] = value
	return ""
}

// hasUsers reports whether a file has a column for users: by its name, by its heading, or because
// every line has root in that column.
func hasUsers(name string, lines []string) bool {
	if filepath.Dir(name) == "/etc" || strings.HasSuffix(filepath.Dir(name), "/cron.d") {
		return true
	}
	entries, root := 0, 0
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if words[0][0] == '#' {
			if heading.MatchString(line) {
				return true
			}
			continue
		}
		at := 5
		if words[0][0] == '@' {
			at = 1
		}
		if variableLine.MatchString(line) || len(words) <= at+1 {
			continue
		}
		if entries++; words[at] == "root" || strings.HasPrefix(words[at], "root:") {
			root++
		}
	}
	return entries > 0 && root == entries
}

var heading = regexp.MustCompile(`(?i)^#.*\bdow\s+user(-?name)?\b`)

// entry reads five fields, or a name for them, and a command.
func (c *crontab) entry(j *job, line string) {
	rest := line
	if after, ok := strings.CutPrefix(rest, "-"); ok && strings.TrimLeft(after, " \t") == after { // the entry is not logged in the system's log
		rest = after
	}
	var words []string
	count := 5
	if strings.HasPrefix(rest, "@") {
		count = 1
	}
	for range count {
		var word string
		word, rest = nextWord(rest)
		words = append(words, word)
	}
	if c.options.system {
		var who string
		who, rest = nextWord(rest)
		j.user, j.group, _ = strings.Cut(who, ":")
		if strings.ContainsAny(who, `/"'*$\`) {
			j.refuse("the user is %q", who)
			return
		}
	}
	if rest == "" {
		j.refuse("has no command after %q", strings.TrimSpace(strings.Join(words, " ")))
		return
	}
	s, err := c.schedule(j, words, line)
	if err != nil {
		j.refuse("%v", err)
		return
	}
	j.spec = s.Text()
	overlap := flags(j, &rest)
	j.set("overlap", overlap)
	j.set("deadline", "1m")
	c.jitter(j, s)
	c.command(j, rest)
	j.name = nameOf(j.shell+strings.Join(j.command[min(2, len(j.command)):], " "), line)
}

// nextWord cuts the first word and the space after it.
func nextWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	end := strings.IndexAny(s, " \t")
	if end < 0 {
		return s, ""
	}
	return s[:end], strings.TrimLeft(s[end:], " \t")
}

func (c *crontab) schedule(j *job, words []string, line string) (*spec.Schedule, error) {
	switch words[0] {
	case "@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually":
		return spec.Parse(c.prefix+words[0], c.zone)
	case "@reboot":
		return nil, fmt.Errorf("@reboot is the start of a machine, which is no tick: a unit of systemd can run it")
	}
	if words[0][:min(1, len(words[0]))] == "@" {
		return nil, fmt.Errorf("%s is not a name of a schedule", words[0])
	}
	h := fnv.New64a()
	h.Write([]byte(line))
	s, remarks, err := translate(words, c.prefix, c.zone, h.Sum64()>>16)
	j.remarks = append(j.remarks, remarks...)
	return s, err
}

// flags cuts the flags of OpenBSD's cron from a command, and returns the overlap policy that they
// set.
func flags(j *job, command *string) (overlap string) {
	overlap = "allow"
	for {
		word, rest := nextWord(*command)
		switch word {
		case "-n":
			j.note("-n is for mail, and none is sent")
		case "-q":
			j.note("-q has no effect: the output is not logged unless log is true")
		case "-s":
			overlap = "skip"
		default:
			return overlap
		}
		*command = rest
	}
}

// jitter applies a random delay if it is shorter than the interval.
func (c *crontab) jitter(j *job, s *spec.Schedule) {
	switch least := interval(s); {
	case c.delay == 0:
	case c.delay < least || least == 0:
		j.set("jitter", fmt.Sprintf("%dm", c.delay/time.Minute))
		j.note("RANDOM_DELAY is a jitter, which follows from the job and the tick: all nodes agree on it")
	default:
		j.note("RANDOM_DELAY=%d is not taken over: a jitter must be below the interval, which is %v", c.delay/time.Minute, least)
	}
}

var wrapper = regexp.MustCompile(`(?:^|[\s/;&|])(flock|timeout|nice|ionice)\s`)

func (c *crontab) command(j *job, text string) {
	line, input := percent(text)
	if input != "" {
		j.stdin = input
		j.note("the text behind %% is stdin, with %% as the end of a line")
	}
	j.env = maps.Clone(c.env)
	j.dir = c.env["HOME"]
	if c.shell == "" || c.shell == "/bin/sh" {
		j.shell = line
	} else {
		j.command = []string{c.shell, "-c", line}
		j.env["SHELL"] = c.shell
	}
	if m := wrapper.FindStringSubmatch(line); m != nil {
		j.note("%s", map[string]string{
			"flock":   "flock locks on one machine: overlap skip does so for all of them",
			"timeout": "the key timeout ends all processes of a run, and records that",
			"nice":    "nice stays in the command", "ionice": "ionice stays in the command",
		}[m[1]])
	}
}

// percent splits a command at the first % without a backslash. The rest is the standard input, in
// which each % ends a line.
func percent(text string) (command, input string) {
	var b strings.Builder
	escaped := false
	for i := range len(text) {
		ch := text[i]
		if ch == '%' && !escaped {
			return b.String(), lines(text[i+1:])
		}
		if ch == '%' { // drop the backslash
			s := strings.TrimSuffix(b.String(), `\`)
			b.Reset()
			b.WriteString(s)
		}
		b.WriteByte(ch)
		escaped = ch == '\\' && !escaped
	}
	return b.String(), ""
}

func lines(text string) string {
	if text == "" {
		return ""
	}
	const kept = "\x00"
	text = strings.ReplaceAll(text, `\%`, kept)
	text = strings.ReplaceAll(strings.ReplaceAll(text, "%", "\n"), kept, "%")
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// unquote removes the quotes around a name or a value.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// cut shortens a text for a comment.
func cut(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "… (" + strconv.Itoa(len(s)) + " bytes)"
}

// machineZone returns the name of the zone of this machine, or UTC if it is not known.
func machineZone() string {
	names := []string{os.Getenv("TZ")}
	if text, err := os.ReadFile("/etc/timezone"); err == nil {
		names = append(names, strings.TrimSpace(string(text)))
	}
	if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		_, name, _ := strings.Cut(target, "/zoneinfo/")
		names = append(names, name)
	}
	for _, name := range names {
		if _, err := config.ParseZone(name); err == nil && name != "" {
			return name
		}
	}
	return "UTC"
}
