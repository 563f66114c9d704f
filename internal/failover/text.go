package failover

import "strings"

// MaxName is how long a name in Kubernetes may be, in bytes.
const MaxName = 253

// MaxConditionText is how long a text of a cluster's condition may be, in bytes: far above
// what any controller reports.
const MaxConditionText = 1024

// Bounded cuts a text of somebody else's to MaxConditionText.
func Bounded(text string) string { return Head(text, MaxConditionText) }

// Shortened cuts a text to so many bytes, and shows by "..." that there was more.
func Shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Head(text, most) + "..."
}

// Head is a text's first bytes, without what the cut left of a character.
func Head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
