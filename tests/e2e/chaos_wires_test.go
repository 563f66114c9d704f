package e2e

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// wires are the four: of worker and controller, to the API server and to Temporal.
type wires struct {
	api, temporal map[string]*wire
	kubeconfigs   map[string]string
}

// users are the processes of the product that have wires.
var users = []string{"worker", "controller"}

func openWires(at place, folder string) (*wires, error) {
	w := &wires{api: map[string]*wire{}, temporal: map[string]*wire{}, kubeconfigs: map[string]string{}}
	var errs []error
	for _, who := range users {
		w.kubeconfigs[who] = filepath.Join(folder, "wired-"+who+".kubeconfig")
		var err error
		w.api[who], err = toAPI(who, at.Kubeconfigs[who], w.kubeconfigs[who])
		errs = append(errs, err)
		w.temporal[who] = toTemporal(who, at.TemporalAddress)
	}
	return w, errors.Join(errs...)
}

func (w *wires) all() []*wire {
	return []*wire{w.api["worker"], w.temporal["worker"], w.api["controller"], w.temporal["controller"]}
}

// begin records a cell on every wire, and cuts the one to which the point belongs.
func (w *wires) begin(cell string, at *cut) {
	for _, each := range w.all() {
		each.begin(cell, at)
	}
}

// points are all that were recorded, sorted.
func (w *wires) points() []string {
	var all []string
	for _, each := range w.all() {
		all = append(all, each.recorded()...)
	}
	slices.Sort(all)
	return all
}

func (w *wires) close() {
	for _, each := range w.all() {
		if each != nil {
			each.close()
		}
	}
}

// karmadaWrite tells a point that is a write of an object of Karmada's.
func karmadaWrite(point string) bool {
	return strings.HasPrefix(point, "worker PATCH clusters ") || strings.Contains(point, "PATCH resourcebindings ")
}
