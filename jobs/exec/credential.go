package exec

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// credential returns the user of the process, or nil for the user of the node.
func (c *Command) credential() (*credential, error) {
	if c.User == "" && c.Group == "" {
		return nil, nil
	}
	if os.Geteuid() != 0 {
		return nil, &FieldError{"user and group", fmt.Sprintf("%q and %q", c.User, c.Group), "empty unless the node runs as root"}
	}
	cred := &credential{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Groups: []uint32{}}
	if c.User != "" {
		if err := cred.setUser(c.User); err != nil {
			return nil, err
		}
	}
	if c.Group != "" {
		g, err := lookUpGroup(c.Group)
		if err != nil {
			return nil, err
		}
		cred.GID = g
	}
	return cred, nil
}

func (cred *credential) setUser(name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.LookupId(name)
	}
	if err != nil {
		id, bad := strconv.ParseUint(name, 10, 32)
		if bad != nil {
			return &FieldError{"user", strconv.Quote(name), "a user of this machine, or a number"}
		}
		cred.UID, cred.GID = uint32(id), uint32(id)
		return nil
	}
	cred.UID, cred.GID = number(u.Uid), number(u.Gid)
	groups, err := u.GroupIds()
	if err != nil {
		return fmt.Errorf("exec: finding the groups of %q: %w", name, err)
	}
	for _, g := range groups {
		cred.Groups = append(cred.Groups, number(g))
	}
	return nil
}

func lookUpGroup(name string) (uint32, error) {
	g, err := user.LookupGroup(name)
	if err == nil {
		return number(g.Gid), nil
	}
	id, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return 0, &FieldError{"group", strconv.Quote(name), "a group of this machine, or a number"}
	}
	return uint32(id), nil
}

func number(id string) uint32 {
	n, _ := strconv.ParseUint(id, 10, 32) // on systems with numeric users, the system returns a number
	return uint32(n)
}
