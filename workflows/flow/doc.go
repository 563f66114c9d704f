// Package flow is what the workflows share: the options of their activities, timers,
// messages as they are received and refused, and the audit trail's writer.
package flow
