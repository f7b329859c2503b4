package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"slices"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// allowedParams are the values of parameters of the drivers.
var allowedParams = map[string]string{
	"sslmode":              "disable, allow, prefer, require, verify-ca or verify-full",
	"connect_timeout":      "a whole number of seconds",
	"target_session_attrs": "any, read-write, read-only, primary, standby or prefer-standby",
	"tls":                  "true, false, skip-verify or preferred",
	"timeout":              "a duration such as 5s",
	"readTimeout":          "a duration such as 5s",
	"writeTimeout":         "a duration such as 5s",
	"parseTime":            "true or false",
}

// localParams are parameters of PostgreSQL that name files of the machine, which need not exist where a configuration is
// only checked.
var localParams = []string{"sslrootcert", "sslcert", "sslkey", "passfile", "service", "servicefile"}

// paramFault returns an error for the parameter of a URL of a database that the driver refuses, or nil. It leaves some
// parameters out. The error repeats no value and no text of the driver: both may have a password. A driver refuses only
// parameters that it knows, and passes the others to the server, so the error may name the parameter.
func paramFault(kind StoreKind, u *url.URL, without ...string) error {
	all, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("has parameters that are no query of a URL, such as ?name=value&name=value")
	}
	for _, name := range without {
		delete(all, name)
	}
	parsed := func(q url.Values) (err error) {
		one := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawQuery: q.Encode()}
		if kind == StoreMySQL {
			_, err = mysql.ParseDSN(mysqlDSN(&one))
		} else {
			_, err = pgx.ParseConfig(one.String())
		}
		return err
	}
	taken := func(q url.Values) bool { return parsed(q) == nil }
	if taken(all) {
		return nil
	}
	names := slices.Sorted(maps.Keys(all))
	at := slices.IndexFunc(names, func(name string) bool { // the only one that is refused, perhaps since it lacks another
		others := maps.Clone(all)
		delete(others, name)
		return taken(others)
	})
	if at < 0 {
		at = slices.IndexFunc(names, func(name string) bool { return !taken(url.Values{name: all[name]}) })
	}
	switch {
	case !taken(nil):
		return nil // not a parameter: the caller, or the connection, names the fault
	case at < 0:
		return errors.New("has parameters that the driver of the database does not take together")
	}
	if allowed := allowedParams[names[at]]; allowed != "" {
		return fmt.Errorf("has a value of the parameter %s that the driver does not take, must be %s", names[at], allowed)
	}
	if file, is := errors.AsType[*fs.PathError](parsed(all)); is {
		return fmt.Errorf("has a parameter %s that names a file that cannot be used: %w", names[at], file.Err)
	}
	return fmt.Errorf("has a value of the parameter %s that the driver of the database does not take", names[at])
}
