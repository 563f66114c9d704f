package failover

import "fmt"

// aliases are the words that Karmada up to v1.18 used for the same modes.
var aliases = map[PurgeMode]PurgeMode{"Immediately": PurgeDirectly, "Graciously": PurgeGracefully}

// ResolvePurgeMode is how the old copy goes: the binding's own annotation wins over
// its policy's, both over spec.failover.cluster, and the configured default stands
// in where nobody said anything.
func ResolvePurgeMode(frozen Policy, policyAnnotation, byDefault PurgeMode) PurgeMode {
	own, spec := frozen.PurgeMode, PurgeMode("")
	if frozen.PurgeBySpec {
		own, spec = "", frozen.PurgeMode
	}
	for _, mode := range []PurgeMode{own, policyAnnotation, spec, byDefault} {
		if mode == "" {
			continue
		}
		if now, old := aliases[mode]; old {
			return now
		}
		return mode.bounded()
	}
	return PurgeGracefully
}

// EffectivePurge is how the old copy of a binding goes under a purge mode. Where Karmada
// preserves copies, a graceful release would leave one that runs on and that no Work shows:
// the old copy is kept, as with Never.
func (b *Binding) EffectivePurge(mode PurgeMode) PurgeMode {
	if b.PreservesCopies && (mode == "" || mode == PurgeGracefully) {
		return PurgeNever
	}
	return mode
}

// preservedDirectly blocks what would run twice: Karmada starts the new copy as soon as the
// old Work is gone, and the copy of that Work runs on.
func preservedDirectly(b *Binding, purge PurgeMode) (Reason, string) {
	if b.PreservesCopies && purge == PurgeDirectly {
		return ReasonCopyPreserved, "spec.preserveResourcesOnDeletion is set: under purge mode Directly the new copy would start while the old one runs on"
	}
	return ReasonNone, ""
}

// Known tells the modes of Karmada from what somebody made up.
func (m PurgeMode) Known() bool {
	return m == PurgeGracefully || m == PurgeDirectly || m == PurgeNever
}

// maxMode bounds a mode that somebody made up, in bytes: an annotation says it, which may
// have 256 kB, and it is frozen and shown.
const maxMode = 64

func (m PurgeMode) bounded() PurgeMode { return PurgeMode(Shortened(string(m), maxMode)) }

// unknownPurgeMode parks what nobody knows: guessing would move it some other way.
func unknownPurgeMode(mode PurgeMode) (Reason, string) {
	if mode.Known() {
		return ReasonNone, ""
	}
	return ReasonMalformed, fmt.Sprintf("purge mode %q is none of Gracefully, Directly, Never", mode)
}
