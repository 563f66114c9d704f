package config

import (
	"slices"
	"strconv"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// never means no limit.
const never = "never"

// limit is a number, or never.
func limit[T any](name, want string, target **T, parse func(string) (T, bool), doc string) key {
	return parsed(key{Name: name, Want: want + ", or " + never, Doc: doc}, target, func(s string) (*T, bool) {
		if s == never {
			return nil, true
		}
		v, ok := parse(s)
		return &v, ok
	}, func(v *T) any {
		if v == nil {
			return never
		}
		return *v
	})
}

// kinds is a list of rules, each "Kind.group=rule".
func kinds(name string, target *rules.KindRules, doc string) key {
	const want = "a list of Kind.group=rule such as Job.batch=keep (the core group has no name), where the rule is move, keep or ask"
	return decoded(key{Name: name, Want: want, Doc: doc}, target, func(raw any) (rules.KindRules, bool) {
		list, ok := texts(raw)
		all := rules.KindRules{}
		for _, item := range list {
			kind, rule, known := rules.ParseKindRule(item)
			all[kind], ok = rule, ok && known
		}
		return all, ok
	}, func(all rules.KindRules) any {
		shown := []string{}
		for kind, rule := range all {
			shown = append(shown, kind+"="+string(rule))
		}
		slices.Sort(shown)
		return shown
	})
}

func (c *Config) approvalKeys() []key {
	return []key{
		limit("approval.clustersAbove", "a whole number from 0 to 1000000", &c.Approval.ClustersAbove, func(s string) (int, bool) {
			n, err := strconv.Atoi(s)
			return n, err == nil && n >= 0 && n <= 1000000
		}, "Ask an operator before each eviction while more clusters than this fail at once."),
		limit("approval.replicasAbove", "a number of percent from 0 to 100", &c.Approval.ReplicasAbove, func(s string) (float64, bool) {
			return number(s, 0, 100)
		}, "Ask before each eviction of an attempt in which more than this share of the fleet's replicas would move. Lists all bindings for each check and eviction."),
		boolean("approval.capacityDeficit", &c.Approval.CapacityDeficit,
			"Ask while the rest of the fleet has not enough room for all that would move. Lists all bindings for each check and eviction."),
		boolean("approval.purgeDirectly", &c.Approval.Directly,
			"Ask before each eviction in purge mode Directly."),
		names("approval.namespaces", &c.Approval.Namespaces,
			"Ask before each eviction of a binding in these namespaces."),
		selector("approval.selector", &c.Approval.Selector,
			"Ask before each eviction of a workload whose labels match, as the manifest in its Work has them. Reads that Work for each check and eviction."),
		duration("approval.expireAfter", &c.Approval.ExpireAfter, 0, 30*24*time.Hour,
			"How long a question stands open; after that the binding stays where it is until an operator approves it all the same. 0 is for ever."),
		kinds("kinds", &c.Kinds,
			"What happens to the workloads of a kind, over the defaults (docs/semantics.md, 4.6, has the table): move, keep where they are, or ask an operator first."),
	}
}
