package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// audited is one line of the API server's audit log: a write, after it was answered.
type audited struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

func (a audited) String() string {
	return fmt.Sprintf("%s %s %s %s/%s %s -> %d", a.Received.Format(time.TimeOnly), a.User.Username, a.Verb,
		a.Object.Namespace, a.Object.Name, a.Object.Resource, a.Response.Code)
}

// changed: it was accepted and stored something, which reviews of permissions do not.
func (a audited) changed() bool {
	return a.Response.Code < 300 && !strings.HasSuffix(a.Object.Resource, "reviews")
}

func (a audited) byLifeboat() bool { return strings.HasPrefix(a.User.Username, "lifeboat-") }

// readAudit are all writes so far. A line may come a moment after its answer.
func readAudit(log string) ([]audited, error) {
	content, err := os.ReadFile(log)
	if err != nil {
		return nil, err
	}
	var writes []audited
	for line := range bytes.Lines(content) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // being written
		}
		var a audited
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		if a.changed() {
			writes = append(writes, a)
		}
	}
	return writes, nil
}
