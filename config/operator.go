package config

import (
	"cmp"
	"os"
	"os/user"
)

// Operator is who runs this command, as "user@host": the default of --who. It is
// a record, no proof of identity.
func Operator() string {
	name := cmp.Or(os.Getenv("USER"), os.Getenv("LOGNAME"))
	if name == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	return cmp.Or(name, "unknown") + "@" + Host()
}

// Host is the name of this machine or pod.
func Host() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}
