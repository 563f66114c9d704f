package documents

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const quickstart = "docs/quickstart.md"

// guided are the single commands of the quickstart, those within a loop too, in their order.
func guided(t *testing.T) []string {
	typed, err := Read(root)
	require.NoError(t, err)
	var all []string
	for _, c := range typed {
		if c.Document == quickstart {
			for _, part := range strings.SplitAfter(regexp.MustCompile(`\b(kubectl|helm) `).ReplaceAllString(c.Text, "\n$0"), "\n") {
				if part = strings.TrimSpace(strings.TrimSuffix(part, "done")); part != "" {
					all = append(all, part)
				}
			}
		}
	}
	return all
}

// at is the position of the first command that has this in it.
func at(t *testing.T, commands []string, what string) int {
	i := slices.IndexFunc(commands, func(c string) bool { return strings.Contains(c, what) })
	require.GreaterOrEqual(t, i, 0, "no command with %q", what)
	return i
}

// Pods and Secrets in Karmada would be propagated to members, and roles on the host
// cluster would grant nothing.
func TestQuickstart_EveryCommandNamesTheRightServer(t *testing.T) {
	const host = "--kubeconfig host.kubeconfig"
	onHost := regexp.MustCompile(`-[kf] deploy/kustomize/base|create secret|deployment karmada-controller-manager`)
	inKarmada := regexp.MustCompile(`kustomize/karmada|deploy/rbac|create token|apply -f -|delete crd`)
	typed, err := Read(root)
	require.NoError(t, err)
	for _, c := range typed {
		require.NotEqual(t, "export KUBECONFIG=host.kubeconfig", c.Text, "%s: later commands would follow it", c)
	}
	seen := 0
	for _, c := range guided(t) {
		if onHost.MatchString(c) {
			require.Contains(t, c, host)
			seen++
		} else if inKarmada.MatchString(c) {
			require.NotContains(t, c, "--kubeconfig", c)
			seen++
		}
	}
	require.Greater(t, seen, 10)
}

// Karmada propagates every namespace that is not labelled: the labelled one is the first write.
func TestQuickstart_LabelledNamespaceIsTheFirstWrite(t *testing.T) {
	commands := guided(t)
	first := slices.IndexFunc(commands, func(c string) bool {
		return regexp.MustCompile(`^(kubectl|helm) |^lifeboat setup`).MatchString(c)
	})
	require.Equal(t, "kubectl apply -k deploy/kustomize/karmada/namespace", commands[first])
}

// A fleet that observes keeps Karmada's own failover, and nothing is granted before it is used.
func TestQuickstart_ObservesThenTurnsKarmadaOffThenEnforces(t *testing.T) {
	commands := guided(t)
	observe, plan := at(t, commands, "karmada/observe"), at(t, commands, "lifeboat plan --all")
	off := at(t, commands, "edit deployment karmada-controller-manager")
	grant, enforce := at(t, commands, "karmada/enforce"), at(t, commands, "mode: observe/mode: enforce")
	require.IsIncreasing(t, []int{observe, plan, off, grant, enforce})
	require.False(t, slices.ContainsFunc(commands, func(c string) bool { return strings.Contains(c, "deploy/rbac") }),
		"deploy/rbac has the roles of enforce, too")
	require.False(t, slices.ContainsFunc(commands[:off], func(c string) bool { return strings.HasPrefix(c, "karmadactl taint") }),
		"while Karmada's eviction is on, a taint moves workloads")
}

func TestQuickstart_EveryKubeconfigIsGivenOrMade(t *testing.T) {
	made := []string{"karmada.kubeconfig", "host.kubeconfig", "$program/kubeconfig"}
	for _, c := range guided(t) {
		for _, named := range regexp.MustCompile(`(?:kubeconfig|KUBECONFIG)[ =](\S+)`).FindAllStringSubmatch(c, -1) {
			require.Contains(t, made, named[1], c)
		}
		if strings.Contains(c, "create secret generic lifeboat-$program-karmada") {
			made = append(made, "worker/kubeconfig", "controller/kubeconfig")
		}
	}
}
