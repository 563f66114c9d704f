package k8sadapter

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// defaultRetryAfter is the wait when a throttling server names none.
const defaultRetryAfter = time.Second

// classify wraps an error of client-go in one of package karmada's sentinels, with operation
// and object. Only this file reads HTTP statuses.
//
// An expired continue token (410) counts as a conflict: the list changed, and has to be read
// again from its first page.
func classify(r request, err error, retryAfter time.Duration) error {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return fmt.Errorf("%s %s: %w: %w", r.verb, r.object(), karmada.ErrUnreachable, err)
	}
	code := int(status.Status().Code)
	if details := status.Status().Details; details != nil && details.RetryAfterSeconds > 0 {
		retryAfter = time.Duration(details.RetryAfterSeconds) * time.Second
	}
	switch sentinel := r.sentinel(code, err); {
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable && retryAfter > 0:
		err = &karmada.ThrottledError{RetryAfter: cmp.Or(retryAfter, defaultRetryAfter), Err: err}
	case code == http.StatusForbidden || code == http.StatusUnauthorized:
		err = forbidden(r, status.Status(), err)
	case refusedByAdmission(status.Status()):
		err = fmt.Errorf("%w: %w", karmada.ErrRefused, err)
	case sentinel != nil:
		err = fmt.Errorf("%w: %w", sentinel, err)
	}
	return fmt.Errorf("%s %s: %w", r.verb, r.object(), err)
}

// sentinel is that of an HTTP status.
func (r request) sentinel(code int, err error) error {
	if code == http.StatusNotFound && r.seeks() && apierrors.IsUnexpectedServerError(err) {
		return karmada.ErrUnreachable
	}
	return sentinels[code]
}

// seeks reports whether the request looks for certain objects. A 404 without the words of the API server says nothing of
// them: a proxy has lost its server, or the APIService of clusters is gone for a moment. Of a whole list it says that the
// kind is not served.
func (r request) seeks() bool {
	return r.subresource == "" && (r.name != "" || r.query.Has("fieldSelector") || r.query.Has("labelSelector"))
}

// webhookFailure is how the API server reports that it could not call an admission webhook
// whose failurePolicy is Fail: no listener, no answer in time, or an answer that is no
// review. (k8s.io/apiserver/pkg/admission/plugin/webhook/errors, ToStatusErr and
// ErrCallingWebhook.)
const webhookFailure = "Internal error occurred: failed calling webhook "

// refusedByAdmission reports whether a write ended in admission, before storage, so that it was
// certainly not stored. Any other 500 may follow the store: a failed call of a conversion
// webhook has another text.
func refusedByAdmission(status metav1.Status) bool {
	return status.Code == http.StatusInternalServerError && status.Reason == metav1.StatusReasonInternalError &&
		strings.HasPrefix(status.Message, webhookFailure)
}

// webhookDenial is how the API server begins the message of an admission webhook that denies a write
// (k8s.io/apiserver, ToStatusErr), and quotaExceeded the reason where a FederatedResourceQuota of Karmada does.
const (
	webhookDenial = "admission webhook "
	quotaExceeded = "QuotaExceeded"
)

// forbidden names the right that is missing; where a webhook denied the write none is, and its own words say why.
func forbidden(r request, status metav1.Status, err error) error {
	if status.Reason == quotaExceeded || strings.HasPrefix(status.Message, webhookDenial) {
		return fmt.Errorf("%w: %w", karmada.ErrForbidden, err)
	}
	return fmt.Errorf("%w: may not %s %s: %w", karmada.ErrForbidden, r.verb, r.permission(), err)
}

// sentinels are those of HTTP statuses that mean the same for every request.
var sentinels = map[int]error{
	http.StatusConflict:              karmada.ErrConflict,
	http.StatusGone:                  karmada.ErrConflict,
	http.StatusNotFound:              karmada.ErrGone,
	http.StatusBadRequest:            karmada.ErrInvalid,
	http.StatusUnprocessableEntity:   karmada.ErrInvalid,
	http.StatusRequestEntityTooLarge: karmada.ErrInvalid,
	http.StatusInternalServerError:   karmada.ErrUnreachable,
	http.StatusBadGateway:            karmada.ErrUnreachable,
	http.StatusServiceUnavailable:    karmada.ErrUnreachable,
	http.StatusGatewayTimeout:        karmada.ErrUnreachable,
}

// permission is the resource as RBAC spells it: "resourcebindings.work.karmada.io".
func (r request) permission() string {
	resource := r.resource.Resource
	if r.subresource != "" {
		resource += "/" + r.subresource
	}
	return strings.TrimSuffix(resource+"."+r.resource.Group, ".")
}

// retryAfterOf is the Retry-After header: client-go keeps it in the error that it builds from
// the status code, and drops it when the body holds an error.
func retryAfterOf(result rest.Result) time.Duration {
	_, err := result.Raw()
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		return time.Duration(status.Status().Details.RetryAfterSeconds) * time.Second
	}
	return 0
}
