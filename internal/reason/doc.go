// Package reason says why. It has every [Reason] once: the same spelling stands in metrics, events,
// search attributes and reports. A [Verdict] is an answer with its reason. The package also words
// and bounds the texts that go with them.
package reason
