package config

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/pace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// key is one configurable value.
type key struct {
	Name string // canonical path, as in the file
	Want string // what is allowed, to follow "want "
	Doc  string
	// Fixed keys have a value that no operator has to choose: config print omits them. They can
	// still be set, so that tests can scale time.
	Fixed bool
	set   func(raw any) bool // false: not allowed, nothing changed
	get   func() any
}

// pattern is the form of a text, and its description.
type pattern struct {
	shape *regexp.Regexp
	want  string
}

var (
	anyText         = pattern{regexp.MustCompile(`^.*$`), "a text"}
	instancePattern = pattern{
		regexp.MustCompile(`^([a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?)?$`),
		"nothing, or up to 40 of a-z, 0-9 and -",
	}
	queuePattern   = pattern{regexp.MustCompile(`^[A-Za-z0-9][-._/A-Za-z0-9]{0,199}$`), "a task queue name of up to 200 characters"}
	urlPattern     = pattern{regexp.MustCompile(`^(https?://[^\s]+)?$`), "nothing, or a URL such as http://127.0.0.1:8233"}
	karmadaPattern = pattern{regexp.MustCompile(`^1\.[1-9][0-9]$`), `a release of Karmada from "1.10", in quotes`}
	namePattern    = pattern{regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`), "a Kubernetes name (up to 63 of a-z, 0-9 and -)"}
)

// fixed marks a key as [key].Fixed.
func fixed(k key) key {
	k.Fixed = true
	return k
}

// scalar is the text of a value from a file, the environment or a flag; lists and sections
// have none.
func scalar(raw any) (string, bool) {
	switch raw.(type) {
	case nil, map[string]any, []any, []string:
		return "", false
	default:
		return strings.TrimSpace(fmt.Sprint(raw)), true
	}
}

// decoded completes a key whose value decode reads from whatever a source has.
func decoded[T any](k key, target *T, decode func(raw any) (T, bool), show func(T) any) key {
	k.set = func(raw any) bool {
		value, ok := decode(raw)
		if ok {
			*target = value
		}
		return ok
	}
	k.get = func() any { return show(*target) }
	return k
}

// parsed completes a key whose value is a scalar that parse understands.
func parsed[T any](k key, target *T, parse func(string) (T, bool), show func(T) any) key {
	return decoded(k, target, func(raw any) (value T, ok bool) {
		s, ok := scalar(raw)
		if !ok {
			return value, false
		}
		return parse(s)
	}, show)
}

func same[T any](v T) any { return v }

func text(name string, target *string, p pattern, doc string) key {
	return parsed(key{Name: name, Want: p.want, Doc: doc}, target, func(s string) (string, bool) { return s, p.shape.MatchString(s) }, same)
}

func choice[T ~string](name string, target *T, allowed []T, doc string) key {
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	return parsed(key{Name: name, Want: strings.Join(words, " or "), Doc: doc}, target,
		func(s string) (T, bool) { return T(s), slices.Contains(words, s) },
		func(v T) any { return string(v) })
}

func duration(name string, target *time.Duration, least, most time.Duration, doc string) key {
	k := key{Name: name, Want: fmt.Sprintf("a duration from %s to %s", short(least), short(most)), Doc: doc}
	return parsed(k, target, func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d >= least && d <= most
	}, func(d time.Duration) any { return short(d) })
}

// short is 15m where time.Duration says 15m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func whole(name string, target *int, least, most int, doc string) key {
	k := key{Name: name, Want: fmt.Sprintf("a whole number from %d to %d", least, most), Doc: doc}
	return parsed(k, target, func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && n >= least && n <= most
	}, same)
}

func decimal(name string, target *float64, least, most float64, doc string) key {
	k := key{Name: name, Want: fmt.Sprintf("a number from %g to %g", least, most), Doc: doc}
	return parsed(k, target, func(s string) (float64, bool) { return number(s, least, most) }, same)
}

func number(s string, least, most float64) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsNaN(f) && f >= least && f <= most
}

func boolean(name string, target *bool, doc string) key {
	return parsed(key{Name: name, Want: "true or false", Doc: doc}, target,
		func(s string) (bool, bool) { return s == "true", s == "true" || s == "false" }, same)
}

const unlimited = "unlimited"

func rate(name string, target *pace.Config, doc string) key {
	return parsed(key{Name: name, Want: "a number from 0 to 1000, or unlimited", Doc: doc}, target, func(s string) (pace.Config, bool) {
		pace := *target
		if pace.Unlimited = s == unlimited; pace.Unlimited {
			return pace, true
		}
		var ok bool
		pace.EvictionRate, ok = number(s, 0, 1000)
		return pace, ok
	}, func(p pace.Config) any {
		if p.Unlimited {
			return unlimited
		}
		return p.EvictionRate
	})
}

func address(name string, target *string, doc string) key {
	return parsed(key{Name: name, Want: "host:port, :port, or -", Doc: doc}, target, func(s string) (string, bool) {
		if s == "-" {
			return s, true
		}
		_, port, err := net.SplitHostPort(s)
		if err != nil {
			return "", false
		}
		_, err = strconv.ParseUint(port, 10, 16)
		return s, err == nil
	}, same)
}

// names is a list of Kubernetes names; one text holds them separated by commas.
func names(name string, target *[]string, doc string) key {
	return listOf(name, target, "a list of Kubernetes names", doc, namePattern.shape.MatchString)
}

// listOf is a list whose every item fits; one text holds them separated by commas.
func listOf(name string, target *[]string, want, doc string, fits func(string) bool) key {
	return decoded(key{Name: name, Want: want, Doc: doc}, target, func(raw any) ([]string, bool) {
		list, ok := texts(raw)
		return list, ok && !slices.ContainsFunc(list, func(item string) bool { return !fits(item) })
	}, func(list []string) any { return append([]string{}, list...) })
}

// texts is a list from a file, or a text that holds its items separated by commas.
func texts(raw any) (list []string, ok bool) {
	if s, ok := scalar(raw); ok {
		return splitList(s), true
	}
	ok = strict(raw, &list)
	return list, ok
}

// selector is a label selector as kubectl's -l takes it.
func selector(name string, target *string, doc string) key {
	return parsed(key{Name: name, Want: "nothing, or a label selector such as tier=gold,env!=prod", Doc: doc}, target, func(s string) (string, bool) {
		_, err := labels.Parse(s)
		return s, err == nil
	}, same)
}

func splitList(s string) []string {
	var list []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func tolerations(name string, target *[]corev1.Toleration, doc string) key {
	const want = "a list of {key, operator: Exists or Equal, value (with Equal), effect: NoExecute or NoSchedule or empty, tolerationSeconds}"
	return decoded(key{Name: name, Want: want, Doc: doc}, target, func(raw any) (list []corev1.Toleration, ok bool) {
		if s, isText := scalar(raw); isText {
			ok = yaml.UnmarshalStrict([]byte(s), &list) == nil
		} else {
			ok = strict(raw, &list)
		}
		return list, ok && !slices.ContainsFunc(list, func(t corev1.Toleration) bool { return !validToleration(t) })
	}, func(list []corev1.Toleration) any { return append([]corev1.Toleration{}, list...) })
}

// validToleration applies Kubernetes' own rules.
func validToleration(t corev1.Toleration) bool {
	exists := t.Operator == corev1.TolerationOpExists && t.Value == ""
	equal := (t.Operator == corev1.TolerationOpEqual || t.Operator == "") && t.Key != ""
	lasts := t.Effect == "" || t.Effect == corev1.TaintEffectNoExecute
	plain := t.Effect == corev1.TaintEffectNoSchedule && t.TolerationSeconds == nil
	return (exists || equal) && (lasts || plain)
}

// strict decodes a list from a file and refuses unknown fields.
func strict(raw, into any) bool {
	encoded, err := json.Marshal(raw)
	return err == nil && yaml.UnmarshalStrict(encoded, into) == nil
}
