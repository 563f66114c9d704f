package pace

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"
)

const (
	// pingPongWindow is the time over which a binding's moves are counted.
	pingPongWindow = time.Hour
	// maxMigrationLog bounds the memory: an hour at more than 5 moves a second. A quicker
	// fleet forgets the oldest of them sooner.
	maxMigrationLog = 20000
	// migrationSize is one move in its encoded form: a hash of the binding and a second.
	migrationSize = 12
)

// MigrationLog remembers who was moved within the last hour, oldest first. It is kept
// by the one pacer, so that it outlives the failovers of every cluster; bindings are
// remembered by a hash, so that it stays below 400 kB.
type MigrationLog struct {
	moves []move
}

type move struct {
	who uint64
	at  int64 // Unix seconds
}

func moverOf(binding string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(binding))
	return h.Sum64()
}

// Add remembers a move and forgets what is older than an hour.
func (l *MigrationLog) Add(binding string, now time.Time) {
	old := 0
	for old < len(l.moves) && l.moves[old].at <= now.Add(-pingPongWindow).Unix() {
		old++
	}
	old = max(old, len(l.moves)+1-maxMigrationLog)
	l.moves = append(l.moves[old:], move{moverOf(binding), now.Unix()})
}

// Since is how often a binding was moved within the last hour, and when it moves
// the oldest of those out of the count.
func (l *MigrationLog) Since(binding string, now time.Time) (n int, until time.Time) {
	who := moverOf(binding)
	for _, m := range l.moves {
		if m.who != who || m.at <= now.Add(-pingPongWindow).Unix() {
			continue
		}
		if n++; n == 1 {
			until = time.Unix(m.at, 0).UTC().Add(pingPongWindow)
		}
	}
	return n, until
}

// MarshalJSON packs the log.
func (l MigrationLog) MarshalJSON() ([]byte, error) {
	raw := make([]byte, 0, len(l.moves)*migrationSize)
	for _, m := range l.moves {
		raw = binary.BigEndian.AppendUint64(raw, m.who)
		raw = binary.BigEndian.AppendUint32(raw, uint32(m.at)) //nolint:gosec // seconds until 2106
	}
	return json.Marshal(raw)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *MigrationLog) UnmarshalJSON(data []byte) error {
	var raw []byte
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("read the log of moves: %w", err)
	}
	if len(raw)%migrationSize != 0 {
		return fmt.Errorf("read the log of moves: %d bytes are no whole moves", len(raw))
	}
	l.moves = nil
	for ; len(raw) > 0; raw = raw[migrationSize:] {
		l.moves = append(l.moves, move{binary.BigEndian.Uint64(raw), int64(binary.BigEndian.Uint32(raw[8:]))})
	}
	return nil
}
