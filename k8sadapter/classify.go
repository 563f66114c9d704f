package k8sadapter

import (
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

// defaultRetryAfter is waited when a server throttles without saying for how long.
const defaultRetryAfter = time.Second

// classify turns an error of client-go into a sentinel of package failover, with
// operation and object. It is the only place that looks at HTTP statuses.
//
// A continue token that has expired (410) counts as a conflict: the list moved on,
// so read it again from its first page.
func classify(r request, err error, retryAfter time.Duration) error {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return fmt.Errorf("%s %s: %w: %w", r.verb, r.object(), karmada.ErrUnreachable, err)
	}
	code := int(status.Status().Code)
	if details := status.Status().Details; details != nil && details.RetryAfterSeconds > 0 {
		retryAfter = time.Duration(details.RetryAfterSeconds) * time.Second
	}
	if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable && retryAfter > 0 {
		if retryAfter == 0 {
			retryAfter = defaultRetryAfter
		}
		return fmt.Errorf("%s %s: %w", r.verb, r.object(), &karmada.ThrottledError{RetryAfter: retryAfter, Err: err})
	}
	if code == http.StatusForbidden || code == http.StatusUnauthorized {
		return fmt.Errorf("%s %s: %w: may not %s %s: %w", r.verb, r.object(),
			karmada.ErrForbidden, r.verb, r.permission(), err)
	}
	if refusedByAdmission(status.Status()) {
		return fmt.Errorf("%s %s: %w: %w", r.verb, r.object(), karmada.ErrRefused, err)
	}
	if sentinel := sentinelOf(code); sentinel != nil {
		return fmt.Errorf("%s %s: %w: %w", r.verb, r.object(), sentinel, err)
	}
	return fmt.Errorf("%s %s: %w", r.verb, r.object(), err)
}

// webhookFailure is how the API server reports that it could not call an admission webhook
// whose failurePolicy is Fail: nobody listens, no answer in time, or an answer that is no
// review. (k8s.io/apiserver/pkg/admission/plugin/webhook/errors, ToStatusErr and
// ErrCallingWebhook.)
const webhookFailure = "Internal error occurred: failed calling webhook "

// refusedByAdmission tells whether a write ended in admission, before storage, so that it
// certainly does not stand. Any other 500 may come after the object was stored: the call of
// a conversion webhook fails with another text.
func refusedByAdmission(status metav1.Status) bool {
	return status.Code == http.StatusInternalServerError && status.Reason == metav1.StatusReasonInternalError &&
		strings.HasPrefix(status.Message, webhookFailure)
}

// sentinelOf is nil for statuses that say nothing we know.
func sentinelOf(code int) error {
	switch code {
	case http.StatusConflict, http.StatusGone:
		return karmada.ErrConflict
	case http.StatusNotFound:
		return karmada.ErrGone
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return karmada.ErrInvalid
	case http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return karmada.ErrUnreachable
	default:
		return nil
	}
}

// permission is the resource as RBAC spells it: "resourcebindings.work.karmada.io".
func (r request) permission() string {
	resource := r.resource.Resource
	if r.subresource != "" {
		resource += "/" + r.subresource
	}
	if r.resource.Group == "" {
		return resource
	}
	return resource + "." + r.resource.Group
}

// retryAfterOf is the Retry-After header, which client-go keeps in the error that
// it builds from the bare status, and drops when the body holds a better one.
func retryAfterOf(result rest.Result) time.Duration {
	_, err := result.Raw()
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		return time.Duration(status.Status().Details.RetryAfterSeconds) * time.Second
	}
	return 0
}
