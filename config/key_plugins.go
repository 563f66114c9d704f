package config

import (
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"sigs.k8s.io/yaml"
)

// pluginText is a plug-in in the file.
type pluginText struct {
	Name      string `json:"name"`
	TaskQueue string `json:"taskQueue,omitempty"`
	Activity  string `json:"activity,omitempty"`
	Timeout   string `json:"timeout,omitempty"`
}

// plugins is a list of plug-ins; a bare name is a built-in one. A text is a list in YAML, or
// bare names separated by commas.
func plugins(name string, target *[]proof.Plugin, builtInsToo bool, doc string) key {
	want := "a list of {name, taskQueue, activity, timeout: 1s to 1h}, each name once"
	if builtInsToo {
		want += "; " + proof.PluginResourceHealth + " stands by its name alone; not empty"
	}
	return decoded(key{Name: name, Want: want, Doc: doc}, target, func(raw any) ([]proof.Plugin, bool) {
		list, ok := pluginList(raw)
		return list, ok && (len(list) > 0 || !builtInsToo) && proof.CheckPlugins(list, builtInsToo) == nil
	}, pluginTexts)
}

func pluginList(raw any) ([]proof.Plugin, bool) {
	if s, ok := scalar(raw); ok {
		var parsed any
		if !strings.ContainsAny(s, "[{:\n") {
			parsed = splitList(s)
		} else if yaml.Unmarshal([]byte(s), &parsed) != nil {
			return nil, false
		}
		raw = parsed
	}
	var items []any
	if !strict(raw, &items) {
		return nil, false
	}
	list := make([]proof.Plugin, 0, len(items))
	for _, item := range items {
		text := pluginText{}
		if bare, ok := item.(string); ok {
			text.Name = bare
		} else if !strict(item, &text) {
			return nil, false
		}
		p := proof.Plugin{Name: text.Name, TaskQueue: text.TaskQueue, Activity: text.Activity}
		if text.Timeout != "" {
			var err error
			if p.Timeout, err = time.ParseDuration(text.Timeout); err != nil || p.Timeout == 0 {
				return nil, false
			}
		}
		list = append(list, p)
	}
	return list, true
}

func pluginTexts(list []proof.Plugin) any {
	out := make([]any, 0, len(list))
	for _, p := range list {
		if p.BuiltIn() {
			out = append(out, p.Name)
			continue
		}
		out = append(out, pluginText{Name: p.Name, TaskQueue: p.TaskQueue, Activity: p.Activity, Timeout: short(p.Timeout)})
	}
	return out
}
