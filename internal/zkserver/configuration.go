package zkserver

import (
	"path/filepath"
	"strconv"
	"strings"
)

// The main class of a server.
const (
	alone      = "org.apache.zookeeper.server.ZooKeeperServerMain"
	inEnsemble = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
)

// arguments returns arguments that keep the process small and its start quick.
func arguments(class, config string) []string {
	return []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.fastleader.maxNotificationInterval=1000", // otherwise a server that waits for a majority checks once a minute
		"-Dzookeeper.preAllocSize=256", "-Dzookeeper.forceSync=no", "-Dzookeeper.admin.enableServer=false",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", jar + ":" + filepath.Join(filepath.Dir(jar), "slf4j-simple.jar"),
		class, config}
}

func configuration(dir string, port int, settings []string) []byte {
	lines := append([]string{
		"tickTime=" + strconv.FormatInt(Tick.Milliseconds(), 10),
		"dataDir=" + dataDir(dir),
		"clientPort=" + strconv.Itoa(port),
		"clientPortAddress=127.0.0.1",
		"maxClientCnxns=0",
		"maxSessionTimeout=120000",
		"4lw.commands.whitelist=*",
	}, settings...)
	return []byte(strings.Join(lines, "\n") + "\n")
}

func dataDir(dir string) string { return filepath.Join(dir, "data") }
