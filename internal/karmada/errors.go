package karmada

import (
	"errors"
	"fmt"
	"time"
)

// What can go wrong with a call to Karmada, classified once by the adapter.
// Callers branch with errors.Is; anything else is transient until proven otherwise.
var (
	// ErrConflict is returned when the object changed since it was read (409).
	ErrConflict = errors.New("changed by someone else")
	// ErrGone is returned when the object does not exist, or exists under another uid.
	ErrGone = errors.New("gone")
	// ErrInvalid is returned when the API server refuses the content (400, 422). Never retried.
	ErrInvalid = errors.New("refused as invalid")
	// ErrForbidden is returned when a permission is missing (401, 403): the message names verb
	// and resource; or when an admission webhook denies the write (403), with the webhook's message. Never retried hot.
	ErrForbidden = errors.New("forbidden")
	// ErrRefused is returned when the API server did not store the write because it could
	// not call an admission webhook (500). The write does not stand; a retry may succeed.
	ErrRefused = errors.New("an admission webhook could not be called")
	// ErrUnreachable is returned when no answer came: the write may or may not stand.
	ErrUnreachable = errors.New("unreachable")
	// ErrThrottled is returned when the server asked to come back later (429, 503 with Retry-After).
	ErrThrottled = errors.New("throttled")
)

// ThrottledError is an ErrThrottled that says how long to wait.
type ThrottledError struct {
	RetryAfter time.Duration
	Err        error
}

// Error names the wait.
func (e *ThrottledError) Error() string {
	return fmt.Sprintf("throttled, retry after %s: %v", e.RetryAfter, e.Err)
}

// Unwrap makes errors.Is(err, ErrThrottled) hold and keeps the cause.
func (e *ThrottledError) Unwrap() []error { return []error{ErrThrottled, e.Err} }
