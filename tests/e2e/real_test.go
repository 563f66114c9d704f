package e2e

import (
	"context"
	"flag"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

// karmadaAt makes the stories run on a real Karmada.
var karmadaAt = flag.String("karmada", "", "folder of a real Karmada's binaries; without it Karmada is simulated")

// raceOfTheScheduler is why the stories about a lost update run on the simulated Karmada only.
const raceOfTheScheduler = "needs a scheduler whose write is late by a moment of the story's choice"

// alphaComponents is why the story about components runs on the simulated Karmada only.
const alphaComponents = "Karmada's gate MultiplePodTemplatesScheduling is alpha and off, and the members run no controller for such kinds"

// A member of a real Karmada is four processes, so a story's clusters join when it begins and leave
// when it has ended, and few stories are told side by side.
const realMembersAtOnce = 4

var room = semaphore.NewWeighted(realMembersAtOnce)

// takeRoom waits until there is room for so many members of a real Karmada, and returns what gives it back.
func takeRoom(members int) (giveBack func()) {
	if *karmadaAt == "" {
		return func() {}
	}
	n := min(int64(members), realMembersAtOnce)
	if err := room.Acquire(context.Background(), n); err != nil {
		return func() {}
	}
	return func() { room.Release(n) }
}

// bystanders make a fleet large enough that one story's failures do not slow the pace: Clusters where
// nothing runs, on a real Karmada all on one member.
func bystanders() []member {
	all := []member{{Name: "bystander"}}
	for i := range 2 {
		m := member{Name: fmt.Sprintf("bystander%d", i+2)}
		if *karmadaAt != "" {
			m.SameAs = "bystander"
		}
		all = append(all, m)
	}
	return all
}

// joinMembers has the story's clusters join, until the story ends, where the lab did not begin with them.
func (s *scene) joinMembers() {
	if *karmadaAt == "" && !s.story.alone || s.story.own {
		return
	}
	var joining errgroup.Group
	joining.SetLimit(2)
	for _, m := range s.story.members() {
		joining.Go(func() error { return s.lab.control(s.ctx, "join", "", m) })
	}
	s.Cleanup(s.leaveMembers)
	require.NoError(s, joining.Wait())
}

// leaveMembers deletes the story's bindings, its clusters and, from a real Karmada, its namespace.
func (s *scene) leaveMembers() {
	ctx := context.Background() // the story's own context has ended
	for _, u := range s.bindings {
		s.deletes(ctx, s.api.Resource(resourceOf(u)).Namespace(u.GetNamespace()), u.GetName())
	}
	list, err := s.api.Resource(clusters).List(ctx, metav1.ListOptions{LabelSelector: "story=" + s.story.short})
	require.NoError(s, err)
	for _, u := range slices.Backward(list.Items) {
		require.NoError(s, s.lab.control(ctx, "leave", u.GetName(), nil))
	}
	if *karmadaAt != "" {
		// Karmada carries it to each bystander, which are one member: their Works overwrite each other for ever.
		s.deletes(ctx, s.api.Resource(namespaces), s.namespace())
	}
}

// deletes deletes an object that may be gone already.
func (s *scene) deletes(ctx context.Context, from dynamic.ResourceInterface, name string) {
	err := from.Delete(ctx, name, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(s, err)
	}
}
