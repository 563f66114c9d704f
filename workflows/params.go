package workflows

// ClusterFailoverParams start a ClusterFailover. State is nil but for a run that
// continues another.
type ClusterFailoverParams struct {
	Instance string         `json:"instance,omitempty"`
	Cluster  string         `json:"cluster"`
	State    *FailoverState `json:"state,omitempty"`
	// Packed is State where that would be long: compressed.
	Packed []byte `json:"packed,omitempty"`
}

// FleetPacerParams start the FleetPacer. State is nil but for a run that continues another.
type FleetPacerParams struct {
	Instance string      `json:"instance,omitempty"`
	State    *PacerState `json:"state,omitempty"`
}
