package config

import "regexp"

// Versioning makes a worker one of a Temporal Worker Deployment: it then works only
// on what its build is current for. Its zero value is a worker without a version.
type Versioning struct {
	// Deployment is its name; empty: no versioning.
	Deployment string
	// BuildID names the build within it; empty: the program's own version.
	BuildID string
}

// Temporal's own limits, and a length that is far inside of them.
var (
	deploymentPattern = pattern{
		regexp.MustCompile(`^([A-Za-z0-9][-_A-Za-z0-9]{0,99})?$`),
		"nothing, or a name of up to 100 of A-Z, a-z, 0-9, - and _",
	}
	buildPattern = pattern{
		regexp.MustCompile(`^([A-Za-z0-9][-._+A-Za-z0-9]{0,99})?$`),
		"nothing, or up to 100 of A-Z, a-z, 0-9 and -._+",
	}
)

func (c *Config) versioningKeys() []key {
	v := &c.Temporal.Versioning
	return []key{
		text("temporal.versioning.deployment", &v.Deployment, deploymentPattern,
			"Name of the Worker Deployment that this worker is a build of: it works on what its build is current for. Empty: workers have no version, and each takes any work."),
		fixed(text("temporal.versioning.buildId", &v.BuildID, buildPattern,
			"With temporal.versioning.deployment, what this build is called; empty is the program's own version.")),
	}
}

func (c *Config) versioningContradictions(add func(wrong bool, key string, v any, want string)) {
	v := c.Temporal.Versioning
	add(v.BuildID != "" && v.Deployment == "", "temporal.versioning.buildId", v.BuildID,
		"without temporal.versioning.deployment no build has a name: set that as well, or leave both empty")
}
