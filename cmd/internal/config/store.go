package config

import (
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// A StoreKind is a kind of store that the binary can use.
type StoreKind string

// Kinds of stores, by the schemes of their URLs.
const (
	StoreRedis     StoreKind = "redis"
	StorePostgres  StoreKind = "postgres"
	StoreMySQL     StoreKind = "mysql"
	StoreSQLite    StoreKind = "sqlite"
	StoreZooKeeper StoreKind = "zookeeper"
	StoreMemory    StoreKind = "memory"
)

// A StoreAddress is the address of the store.
type StoreAddress struct {
	Kind    StoreKind
	Servers []string // the servers of ZooKeeper
	File    string   // the file of SQLite
	Default bool     // no store is configured: File is in the state directory of this user

	url *url.URL // of a database or of ZooKeeper, without a password
}

// StorePasswordEnv is the variable with the password of a store other than Redis.
const StorePasswordEnv = "CRONCE_STORE_PASSWORD"

const storeAllowed = "must be redis://host[:port][/db], rediss://, redis-sentinel://host,host/master, redis-cluster://host,host, " +
	"postgres://[user@]host/database, mysql://[user@]host/database, sqlite:FILE, zookeeper://host,host or memory:"

// clusterSigns are variables that orchestrators set in the containers that they start.
var clusterSigns = []string{"KUBERNETES_SERVICE_HOST", "NOMAD_ALLOC_ID", "ECS_CONTAINER_METADATA_URI", "ECS_CONTAINER_METADATA_URI_V4"}

// Address returns the address of the store. For a configuration that was not read it is a Redis.
func (c *Config) Address() StoreAddress {
	if c.address.Kind == "" {
		return StoreAddress{Kind: StoreRedis}
	}
	return c.address
}

// storeFaults determines the address of the store. A URL of a Redis becomes the settings of the
// section redis. It must be called before redisFaults.
func (c *Config) storeFaults(bad func(path, format string, args ...any)) {
	r := &c.Redis
	configured := r.URL != "" || len(r.Addresses) > 0
	named := c.redisKey()
	switch {
	case c.Store != "" && configured:
		bad("store", "and redis.%s are both set, give one of them", map[bool]string{true: "url", false: "addresses"}[r.URL != ""])
	case c.Store != "":
		c.parseStore(bad)
	case configured || named != "":
		c.address = StoreAddress{Kind: StoreRedis}
	default:
		c.address = StoreAddress{Kind: StoreSQLite, File: filepath.Join(c.stateDirectory(), "cronce.db"), Default: true}
	}
	if set := c.StorePasswordEnv + c.StorePasswordFile; set != "" && !slices.Contains([]StoreKind{StorePostgres, StoreMySQL, StoreZooKeeper}, c.address.Kind) {
		at := "store_password_env"
		if c.StorePasswordEnv == "" {
			at = "store_password_file"
		}
		bad(at, "is for a store that is a database or ZooKeeper: for a Redis set redis.password_env or redis.password_file")
	}
	if c.address.Kind != StoreRedis && named != "" {
		bad("redis."+named, "is for a Redis, but the store is %s", c.StoreName())
	}
}

// redisKey returns a key of the section redis that the file sets and that only a Redis uses, or "".
func (c *Config) redisKey() string {
	section := reflect.ValueOf(c.Redis)
	for field, value := range section.Fields() {
		key := field.Tag.Get("yaml")
		if c.origin["redis."+key] == "" && !value.IsZero() && !slices.Contains([]string{"url", "addresses", "journal_lines", "journal_bytes"}, key) {
			return key
		}
	}
	return ""
}

// parseStore parses the setting store. No fault repeats a part of it, because it may have a
// password.
func (c *Config) parseStore(bad func(path, format string, args ...any)) {
	scheme, rest, _ := strings.Cut(c.Store, ":")
	switch scheme {
	case "memory":
		c.address = StoreAddress{Kind: StoreMemory}
		if rest != "" {
			bad("store", "has something behind memory:, must be memory: alone")
		}
	case "sqlite":
		file := strings.TrimPrefix(rest, "//")
		if strings.HasPrefix(rest, "//") && !strings.HasPrefix(file, "/") || file == "" || strings.ContainsAny(file, "?#") || strings.HasPrefix(file, ":") || strictyaml.HasCredentials(file) {
			bad("store", "names no file, must be sqlite:FILE")
			file = ""
		}
		c.address = StoreAddress{Kind: StoreSQLite, File: file}
	case "redis", "rediss", "redis-sentinel", "redis-cluster":
		c.address = StoreAddress{Kind: StoreRedis}
		c.parseRedisStore(scheme, bad)
	case "postgres", "postgresql", "mysql", "mariadb", "zookeeper":
		c.parseServerStore(scheme, bad)
	default:
		allowed := storeAllowed
		if near := strictyaml.Nearest(scheme, []string{"redis", "rediss", "postgres", "mysql", "sqlite", "zookeeper", "memory"}); near != "" {
			allowed += "; did you mean " + near + "?"
		}
		bad("store", "is no URL of a store, %s", allowed)
	}
}

// parseRedisStore sets the section redis.
func (c *Config) parseRedisStore(scheme string, bad func(path, format string, args ...any)) {
	r := &c.Redis
	if scheme == "redis" || scheme == "rediss" {
		r.URL = c.Store
		c.origin["redis.url"] = c.origin["store"]
		if c.origin["store"] == "" {
			c.origin["redis.url"] = "store"
		}
		return
	}
	u, err := parseHosts(c.Store)
	master := ""
	if err == nil {
		master = strings.Trim(u.Path, "/")
	}
	switch {
	case err != nil:
		bad("store", "%v, %s", err, storeAllowed)
	case u.User != nil:
		bad("store", "names a user: set redis.username and redis.password_env")
	case u.RawQuery != "":
		bad("store", "has parameters: set redis.tls and redis.db in the file")
	case scheme == "redis-sentinel" && (master == "" || strings.Contains(master, "/")):
		bad("store", "names no master, must be redis-sentinel://host,host/master")
	case scheme == "redis-cluster" && master != "":
		bad("store", "has a path, must be redis-cluster://host,host")
	default:
		port := "6379"
		if scheme == "redis-sentinel" {
			port = "26379"
		}
		r.Addresses, r.MasterName, r.Cluster = withPort(u.Host, port), master, scheme == "redis-cluster"
	}
}

// parseServerStore parses the URL of a database or of ZooKeeper.
func (c *Config) parseServerStore(scheme string, bad func(path, format string, args ...any)) {
	kinds := map[string]StoreKind{"postgresql": StorePostgres, "mariadb": StoreMySQL}
	kind := StoreKind(scheme)
	if k, ok := kinds[scheme]; ok {
		kind = k
	}
	c.address = StoreAddress{Kind: kind}
	u, err := parseHosts(c.Store)
	switch {
	case err != nil:
		bad("store", "%v, %s", err, storeAllowed)
		return
	case passwordIn(u):
		bad("store", "has a password, which may not stand here: set $%s, store_password_env or store_password_file", StorePasswordEnv)
		return
	case kind == StoreZooKeeper && (strings.Trim(u.Path, "/") != "" || u.RawQuery != ""):
		bad("store", "has a path or parameters, must be zookeeper://host,host: the namespace is the node below the root")
	case kind != StoreZooKeeper && (strings.Trim(u.Path, "/") == "" || strings.Contains(strings.Trim(u.Path, "/"), "/")):
		bad("store", "names no database, must be %s://[user@]host/database", scheme)
	case kind != StoreZooKeeper:
		if err := paramFault(kind, u, localParams...); err != nil {
			bad("store", "%v", err)
		}
	}
	if kind == StoreZooKeeper {
		c.address.Servers = withPort(u.Host, "2181")
	}
	c.address.url = u
}

// parseHosts parses a URL with one or more hosts. Its error repeats no part of it.
func parseHosts(raw string) (*url.URL, error) {
	if strayAt(raw) {
		return nil, errors.New(strayAtSays)
	}
	scheme, rest, _ := strings.Cut(raw, "://")
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	user, hosts, found := strings.Cut(authority, "@")
	if !found {
		user, hosts = "", authority
	}
	first, _, _ := strings.Cut(hosts, ",") // the parser accepts one port
	if found {
		first = user + "@" + first
	}
	u, err := url.Parse(scheme + "://" + first + tail)
	if err != nil || u.Hostname() == "" || u.Fragment != "" || strings.Contains(hosts, ",,") || strings.HasSuffix(hosts, ",") {
		return nil, errors.New("is no URL of a store")
	}
	if !portsFit(u, hosts) {
		return nil, errors.New(badPort)
	}
	u.Host = hosts
	return u, nil
}

// passwordIn reports whether a URL has a password, also as a parameter of a driver.
func passwordIn(u *url.URL) bool {
	_, has := u.User.Password()
	return has || slices.ContainsFunc([]string{"password", "passwd", "sslpassword"}, u.Query().Has)
}

// withPort splits hosts, and adds a port to those that have none.
func withPort(hosts, port string) (out []string) {
	for host := range strings.SplitSeq(hosts, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		out = append(out, host)
	}
	return out
}

// stateDirectory returns the directory in which a node without a configured store keeps its store.
func (c *Config) stateDirectory() string {
	if dir, ok := c.variable("STATE_DIRECTORY"); ok && dir != "" { // set by systemd; the first of several
		first, _, _ := strings.Cut(dir, ":")
		return first
	}
	if dir, ok := c.variable("XDG_STATE_HOME"); ok && dir != "" {
		return filepath.Join(dir, "cronce")
	}
	home, _ := c.variable("HOME")
	if home == "" {
		home, _ = c.variable("USERPROFILE") // set by Windows
	}
	return filepath.Join(home, ".local", "state", "cronce")
}

// ClusterSign returns the variable that suggests that this process is one of several on different
// hosts, or "".
func (c *Config) ClusterSign() string {
	for _, name := range clusterSigns {
		if _, set := c.variable(name); set {
			return name
		}
	}
	return ""
}

// StoreName names the store without any secret.
func (c *Config) StoreName() string {
	switch a := c.Address(); {
	case a.Kind == StoreRedis:
		return c.RedisName()
	case a.Kind == StoreSQLite:
		return "SQLite " + a.File
	case a.Kind == StoreMemory:
		return "the memory of this process"
	case a.url == nil:
		return string(a.Kind)
	default:
		return string(a.Kind) + "://" + a.url.Host + a.url.Path
	}
}

// StoreDSN returns the DSN of a store that is a database. It reads the password.
func (c *Config) StoreDSN() (DSN, error) {
	u := *c.address.url
	password, err := c.storePassword()
	if err != nil {
		return DSN{}, err
	}
	if text := password.Text(); text != "" {
		if u.User == nil {
			return DSN{}, c.Fault("store", "names no user, but a password is set: write %s://user@host/database", u.Scheme)
		}
		u.User = url.UserPassword(u.User.Username(), text)
	}
	d, err := ParseDSN(u.String())
	if err != nil {
		return DSN{}, c.Fault("store", "%v", err)
	}
	if plain := d.InPlain(); plain != "" && d.HasPassword {
		return d, c.InPlain("store", plain)
	}
	return d, nil
}

// StoreUser returns the user and the password for a ZooKeeper, or empty values if there are none.
func (c *Config) StoreUser() (user string, password Secret, err error) {
	if password, err = c.storePassword(); err != nil {
		return "", Secret{}, err
	}
	switch named := c.address.url.User != nil; {
	case !named && password.Text() != "":
		return "", Secret{}, c.Fault("store", "names no user, but a password is set: write zookeeper://user@host")
	case named && password.Text() == "":
		return "", Secret{}, c.Fault("store", "names a user without a password: set $%s, store_password_env or store_password_file", StorePasswordEnv)
	}
	return c.address.url.User.Username(), password, nil
}

func (c *Config) storePassword() (Secret, error) {
	return c.ReadSecret("store_password", c.StorePasswordFile, c.StorePasswordEnv, StorePasswordEnv)
}
