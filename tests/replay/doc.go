// Package replay replays recorded histories of finished workflows against the
// workflows as they are now: a change that would break a run in flight fails here.
//
// It proves nothing about what the workflows decide, only that they still decide
// the same in the same order.
package replay
