package main

import (
	"fmt"
	"os"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
	"sigs.k8s.io/yaml"
)

// regions over which default members are spread, so that placements by region
// have something to choose from.
var regions = []string{"north", "south", "west"}

// defaultMembers returns member1 to memberN.
func defaultMembers(n int) []karmada.MemberSpec {
	members := make([]karmada.MemberSpec, n)
	for i := range members {
		region := regions[i%len(regions)]
		members[i] = karmada.MemberSpec{
			Name:     fmt.Sprintf("member%d", i+1),
			Region:   region,
			Zone:     fmt.Sprintf("%s-%d", region, i/len(regions)+1),
			Provider: "lab",
		}
	}
	return members
}

// loadMembers reads a YAML or JSON list of members.
func loadMembers(file string) ([]karmada.MemberSpec, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read members: %w", err)
	}
	var members []karmada.MemberSpec
	if err := yaml.UnmarshalStrict(content, &members); err != nil {
		return nil, fmt.Errorf("decode members in %s: %w", file, err)
	}
	for i, member := range members {
		if member.Name == "" {
			return nil, fmt.Errorf("member %d in %s has no name", i+1, file)
		}
	}
	return members, nil
}
