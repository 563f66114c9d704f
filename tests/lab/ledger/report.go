package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Report is what Lifeboat says became of one cluster's failure: the answer of its status query, or the
// result of its workflow.
type Report struct {
	Cluster string `json:"cluster"`
	Episode string `json:"episode"`
	// Phase is that of a status, Ended that of a result.
	Phase string    `json:"phase,omitempty"`
	Ended string    `json:"ended,omitempty"`
	Round int       `json:"round,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Now   time.Time `json:"now,omitzero"`
	// Results are those of the round that runs, Past and Rounds those of the others.
	Results []Result        `json:"results,omitempty"`
	Past    []Round         `json:"past,omitempty"`
	Rounds  []Round         `json:"rounds,omitempty"`
	Items   []Item          `json:"items,omitempty"`
	Moves   map[string]Open `json:"moves,omitempty"`
	Debts   []Debt          `json:"debts,omitempty"`
}

// Round is one failure within an episode.
type Round struct {
	Round   int       `json:"round"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Results []Result  `json:"results"`
}

// Result is what became of one binding.
type Result struct {
	Key     Key      `json:"key"`
	UID     string   `json:"uid"`
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason,omitempty"`
	Cause   string   `json:"cause,omitempty"`
	Message string   `json:"message,omitempty"`
	To      []string `json:"to,omitempty"`
}

// Key names a binding.
type Key struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func (k Key) String() string {
	if k.Namespace == "" {
		return "-/" + k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Item is a binding that waits in the queue.
type Item struct {
	Key     Key      `json:"k"`
	State   string   `json:"s"`
	Reason  string   `json:"r,omitempty"`
	Message string   `json:"m,omitempty"`
	To      []string `json:"c,omitempty"`
	// Was tells that it owes an outcome.
	Was bool `json:"w,omitempty"`
}

// Open is a move that is under way.
type Open struct {
	Phase   string   `json:"phase"`
	Reason  string   `json:"reason,omitempty"`
	Message string   `json:"message,omitempty"`
	To      []string `json:"to,omitempty"`
}

// Debt is an old Work that stays on an absent cluster.
type Debt struct {
	Key Key    `json:"key"`
	UID string `json:"uid"`
}

// ReadReport decodes a report, also from within the answer of `lifeboat status <cluster> -o json`.
func ReadReport(content []byte) (Report, error) {
	var answer struct {
		Report
		Status *Report `json:"status"`
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		return answer.Report, fmt.Errorf("decode report: %w", err)
	}
	r := answer.Report
	if answer.Status != nil {
		r = *answer.Status
	}
	if r.Cluster == "" || (r.Phase == "" && r.Ended == "") {
		return r, fmt.Errorf("decode report: it names no cluster or no phase: %.120s", content)
	}
	return r, nil
}

// closed says whether nothing more is to come.
func (r Report) closed() bool {
	return slices.Contains([]string{"FalseAlarm", "Uncordoned", "Recovered", "Cancelled", "Gone"}, r.phase())
}

func (r Report) phase() string {
	if r.Ended != "" {
		return r.Ended
	}
	return r.Phase
}

// rounds are all rounds, the one that runs included.
func (r Report) rounds() []Round {
	all := slices.Concat(r.Past, r.Rounds)
	if r.Phase != "" {
		all = append(all, Round{Round: r.Round, Since: r.Since, Until: r.Now, Results: r.Results})
	}
	return all
}

// open says where a binding without an outcome stands; empty when the report does not know it.
func (r Report) open(binding string) string {
	if m, moving := r.Moves[binding]; moving {
		return m.Phase + " " + m.Reason
	}
	for _, i := range r.Items {
		if i.Key.String() == binding && i.Was {
			return i.State + " " + i.Reason
		}
	}
	return ""
}

// during are the outcomes of one binding in the rounds that overlap a failure, by round.
func (r Report) during(f *Failure, binding, uid string) map[int][]Result {
	found := map[int][]Result{}
	for _, round := range r.rounds() {
		over := !f.To.IsZero() && round.Since.After(f.To)
		if over || (!round.Until.IsZero() && round.Until.Before(f.From)) {
			continue
		}
		for _, result := range round.Results {
			if result.Key.String() == binding && (result.UID == "" || result.UID == uid) {
				found[round.Round] = append(found[round.Round], result)
			}
		}
	}
	return found
}
