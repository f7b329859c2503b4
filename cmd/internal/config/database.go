package config

import "net/url"

// mysqlDSN converts a URL into the form of the MySQL driver.
func mysqlDSN(u *url.URL) string {
	user := u.User.Username()
	if password, ok := u.User.Password(); ok {
		user += ":" + password
	}
	address := u.Host
	if u.Port() == "" {
		address += ":3306"
	}
	dsn := user + "@tcp(" + address + ")" + u.Path
	if u.RawQuery != "" {
		dsn += "?" + u.RawQuery
	}
	return dsn
}
