package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// audited is one line of the API server's audit log: a request, after it was answered.
type audited struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Agent    string    `json:"userAgent"`
	Received time.Time `json:"requestReceivedTimestamp"`
	// Annotations say who was let through by which role, and who was not.
	Annotations map[string]string `json:"annotations"`
}

func (a audited) String() string {
	return fmt.Sprintf("%s %s %s %s/%s %s -> %d", a.Received.Format(time.TimeOnly), a.User.Username, a.Verb,
		a.Object.Namespace, a.Object.Name, a.Object.Resource, a.Response.Code)
}

// changed: it was accepted and stored something, which reads and reviews of permissions
// do not.
func (a audited) changed() bool {
	reads := slices.Contains([]string{"get", "list", "watch"}, a.Verb)
	return !reads && a.Response.Code < 300 && !strings.HasSuffix(a.Object.Resource, "reviews")
}

func (a audited) byLifeboat() bool { return strings.HasPrefix(a.User.Username, "lifeboat-") }

// auditLog follows the API server's audit log, each line once.
type auditLog struct {
	file   string
	mu     sync.Mutex
	offset int64
	writes []audited
	rights rights
}

// newAuditLog holds what it reads against the roles in a folder.
func newAuditLog(file, roles string) (*auditLog, error) {
	granted, err := readRights(roles)
	return &auditLog{file: file, rights: granted}, err
}

// read are all writes so far. A line may come a moment after its answer.
func (l *auditLog) read() ([]audited, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(l.file)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // read only
	content, err := io.ReadAll(io.NewSectionReader(file, l.offset, 1<<40))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(content) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // being written
		}
		var a audited
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		l.offset += int64(len(line))
		l.rights.note(a)
		if a.changed() {
			l.writes = append(l.writes, a)
		}
	}
	return slices.Clone(l.writes), nil
}
