package flow

import (
	"github.com/lifeboat-failover/lifeboat/workflows"
	"go.temporal.io/sdk/temporal"
)

// Refused is the answer to an order that cannot be carried out.
func Refused(why string) error {
	return temporal.NewApplicationError(why, "Refused")
}

// RefuseOrder is the validator of every update that takes an Order.
func RefuseOrder(o workflows.Order) error {
	if bad := o.Malformed(); bad != "" {
		return temporal.NewApplicationError(bad, "InvalidOrder")
	}
	return nil
}

// StateNeedsSource answers whoever vouches for an old copy whose state is still wanted.
func StateNeedsSource(cluster string) string {
	return "its state goes along only when " + cluster + " is back; to go on without it, say withoutState as well"
}

// UnseenOutage answers whoever vouches for a cluster that was not seen to be silent: a
// word counts for the very outage that was seen when it was given.
func UnseenOutage(cluster string) string {
	return cluster + " was not silent when it was last looked at, or nobody says since when: say it again once it is seen to be"
}
