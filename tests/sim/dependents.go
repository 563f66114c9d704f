package sim

import (
	"encoding/json"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
)

// dependentKey is the binding that Karmada makes for a ConfigMap.
func dependentKey(name string) karmada.BindingKey {
	return karmada.BindingKey{Namespace: "shop", Name: name + "-configmap"}
}

// propagate has a binding take its dependents along.
func (b Binding) propagate(out *karmada.Binding) {
	var listed []karmada.Dependent
	for _, name := range b.Needs {
		listed = append(listed, karmada.Dependent{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name})
	}
	raw, err := json.Marshal(listed)
	if err != nil {
		panic(err)
	}
	out.PropagateDeps = true
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[karmada.AnnotationDependencies] = string(raw)
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
			s.world.AddDependent(karmada.Binding{
				Key: key, SchedulerName: karmada.DefaultSchedulerName,
				Resource: karmada.Resource{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name},
			})
		}
	}
}
