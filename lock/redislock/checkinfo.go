package redislock

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cronce/cronce/lock/driver"
)

// An info is what a server reports of itself.
type info struct {
	fields  map[string]string // of INFO; empty if the user may not ask
	saves   string            // when it writes snapshots
	asked   bool              // whether saves is known
	server  string
	cluster bool // the client is one for a Cluster
	options CheckOptions
}

// parseInfo reads the reply to INFO: lines of name:value, and titles.
func parseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if found && !strings.HasPrefix(name, "#") {
			fields[name] = value
		}
	}
	return fields
}

func (i *info) finding(level driver.Level, topic, text, fix string) driver.Finding {
	return driver.Finding{Level: level, Topic: topic, Server: i.server, Text: text, Fix: fix}
}

// unreported is the finding about what the user may not ask, or the server does not know.
func (i *info) unreported(topic, what string) driver.Finding {
	level := driver.LevelWarn
	if i.options.Strict {
		level = driver.LevelRefuse
	}
	return i.finding(level, topic, "the server does not report "+what, "let the user ask INFO and CONFIG|GET, or make sure yourself")
}

func (i *info) version() driver.Finding {
	version, known := i.fields["redis_version"]
	major, minor, ok := parseVersion(version)
	switch {
	case !known || !ok:
		return i.unreported(driver.TopicVersion, "its version")
	case major < 6 || major == 6 && minor < 2:
		return i.finding(driver.LevelRefuse, driver.TopicVersion, "the server is Redis "+version, "use Redis 6.2 or newer")
	}
	return i.finding(driver.LevelOK, driver.TopicVersion, "the server is Redis "+version, "")
}

func parseVersion(s string) (major, minor int, ok bool) {
	first, rest, found := strings.Cut(s, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err1 := strconv.Atoi(first)
	minor, err2 := strconv.Atoi(second)
	return major, minor, found && err1 == nil && err2 == nil
}

func (i *info) role() driver.Finding {
	role, known := i.fields["role"]
	switch {
	case !known:
		return i.unreported(driver.TopicRole, "whether it is a master")
	case role != "master":
		return i.finding(driver.LevelRefuse, driver.TopicRole, "the server is a replica of "+i.fields["master_host"]+":"+i.fields["master_port"],
			"connect to the master, or through Sentinel")
	case i.fields["cluster_enabled"] == "1" && !i.cluster:
		return i.finding(driver.LevelRefuse, driver.TopicRole, "the server is part of a Cluster, the client is for a single server", "use a client for a Cluster")
	}
	return i.finding(driver.LevelOK, driver.TopicRole, "the server is a master", "")
}

func (i *info) eviction() driver.Finding {
	const fix = "set maxmemory-policy to noeviction"
	policy, known := i.fields["maxmemory_policy"]
	text := fmt.Sprintf("maxmemory-policy is %s, maxmemory %s bytes", policy, i.fields["maxmemory"])
	switch {
	case !known:
		return i.unreported(driver.TopicEviction, "whether it evicts keys")
	case policy == "noeviction":
		return i.finding(driver.LevelOK, driver.TopicEviction, text, "")
	case i.fields["maxmemory"] == "0":
		return i.finding(driver.LevelWarn, driver.TopicEviction, text+": with a bound on its memory the server would evict locks and marks, and numbers would run twice", fix)
	case i.options.AllowEviction:
		return i.finding(driver.LevelWarn, driver.TopicEviction, text+": the server evicts locks and marks, and numbers run twice", fix)
	}
	return i.finding(driver.LevelRefuse, driver.TopicEviction, text+": the server evicts locks and marks, and numbers run twice", fix)
}

func (i *info) persistence() driver.Finding {
	const fix = "set appendonly to yes"
	log, known := i.fields["aof_enabled"]
	switch {
	case !known:
		return i.unreported(driver.TopicPersistence, "whether its data outlives its process")
	case log == "1":
		return i.finding(driver.LevelOK, driver.TopicPersistence, "the server writes a log of all changes", "")
	case !i.asked && i.options.Strict:
		return i.unreported(driver.TopicPersistence, "whether it writes snapshots, and writes no log of changes")
	case !i.asked:
		return i.finding(driver.LevelWarn, driver.TopicPersistence, "the server writes no log of changes, and does not report whether it writes snapshots", fix)
	case i.saves == "":
		return i.finding(driver.LevelWarn, driver.TopicPersistence, "the server keeps nothing on disk: what was decided is forgotten when its process ends", fix)
	}
	return i.finding(driver.LevelWarn, driver.TopicPersistence, "the server only writes snapshots: what was decided after the last one is forgotten when its process ends", fix)
}
