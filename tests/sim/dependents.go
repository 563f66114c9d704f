package sim

import (
	"encoding/json"

	"github.com/lifeboat-failover/lifeboat/internal/failover"
)

// dependentKey is the binding that Karmada makes for a ConfigMap.
func dependentKey(name string) failover.BindingKey {
	return failover.BindingKey{Namespace: "shop", Name: name + "-configmap"}
}

// propagate has a binding take its dependents along.
func (b Binding) propagate(out *failover.Binding) {
	var listed []failover.Dependent
	for _, name := range b.Needs {
		listed = append(listed, failover.Dependent{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name})
	}
	raw, err := json.Marshal(listed)
	if err != nil {
		panic(err)
	}
	out.PropagateDeps = true
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[failover.AnnotationDependencies] = string(raw)
}

// dependents makes the bindings of whatever the schedule's bindings take along.
func (s *sim) dependents() {
	made := map[string]bool{}
	for _, b := range s.schedule.Bindings {
		for _, name := range b.Needs {
			key := dependentKey(name)
			s.needs[b.key()] = append(s.needs[b.key()], key)
			if made[name] {
				continue
			}
			made[name] = true
			s.world.AddDependent(failover.Binding{
				Key: key, SchedulerName: failover.DefaultSchedulerName,
				Resource: failover.Resource{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name},
			})
		}
	}
}
