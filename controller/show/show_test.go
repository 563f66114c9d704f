package show

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
)

func TestEveryLineStaysWithinTheWidth(t *testing.T) {
	var out bytes.Buffer
	p := Page{Out: &out}
	long := strings.Repeat("words ", 80)
	rows := p.Table("A", "B")
	rows.AppendRow(table.Row{long, long})
	rows.Render()
	tree := p.Tree()
	tree.AppendItem(long)
	tree.Indent()
	tree.AppendItem(long)
	p.Branches(tree)
	require.Equal(t, 4, strings.Count(out.String(), "\n"))
	p.Wrapped("  ", long)
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), Width, line)
	}
	out.Reset()
	p.Wrapped("  ", long)
	require.Equal(t, 80, strings.Count(out.String(), "words"), "wrapping loses nothing")
}

func TestTable_LastColumn_TakesWhatTheOthersLeave(t *testing.T) {
	for _, columns := range []int{60, 80, 200} {
		var out bytes.Buffer
		rows := Page{Out: &out, Columns: columns}.Table("A", "Because")
		rows.AppendRow(table.Row{"shop/cart", strings.Repeat("words ", 20)})
		rows.Render()
		require.Equal(t, 20, strings.Count(out.String(), "words"), "nothing is cut off")
		require.InDelta(t, min(columns, 131), len(strings.Split(out.String(), "\n")[1]), 8, "at %d columns", columns)
	}
}

func TestColourIsForTerminals(t *testing.T) {
	require.Equal(t, "halted", Page{}.Coloured(Bad, "halted"))
	require.Contains(t, Page{Colour: true}.Coloured(Bad, "halted"), "\x1b[31mhalted")
	require.False(t, IsTerminal(&bytes.Buffer{}))
}

func TestTimesAreToldInFewCharacters(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	p := Page{Now: now}
	require.Equal(t, "-", p.Age(time.Time{}))
	require.Equal(t, "0s", p.Age(now.Add(time.Minute)), "clocks differ")
	require.Equal(t, "1m30s", p.Age(now.Add(-90*time.Second)))
	require.Equal(t, "2h5m", p.Age(now.Add(-2*time.Hour-5*time.Minute)))
}

func TestAFormThatIsNotAllowedIsRefused(t *testing.T) {
	form := NewForm()
	require.True(t, form.ForPeople())
	require.Equal(t, "table, json or yaml", form.Usage())
	require.EqualError(t, form.Set("xml"), "want one of [table json yaml]")
	require.NoError(t, form.Set(YAML))
	var out bytes.Buffer
	value := struct {
		WorkflowID string `json:"workflowID"`
	}{"a"}
	require.NoError(t, form.Encode(&out, value))
	require.NoError(t, form.Set(JSON))
	require.NoError(t, form.Encode(&out, value))
	require.Equal(t, "workflowID: a\n{\n  \"workflowID\": \"a\"\n}\n", out.String())
	narrow := NewForm(YAML, JSON)
	require.Error(t, narrow.Set(Table))
	require.False(t, narrow.ForPeople())
}

func TestWatchingEndsWithWhoeverWatchesAndWithTrouble(t *testing.T) {
	trouble := errors.New("no route")
	require.ErrorIs(t, Again(t.Context(), func(context.Context) error { return trouble }), trouble)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, Again(ctx, func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	}))
}

func TestWhatTakesLongIsToldOnATerminalAlone(t *testing.T) {
	var out syncBuffer
	p := Progress{out: &out, after: time.Millisecond}
	end := p.Begin("read bindings")
	p.Step(3, 7)
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "read bindings ... 3 of 7") }, time.Minute, time.Millisecond)
	end()
	require.True(t, strings.HasSuffix(out.String(), "\r"+clearRight), "its line is taken away")

	said := out.String()
	for _, silent := range []*Progress{NewProgress(&out), nil} {
		end := silent.Begin("x")
		silent.Step(1, 2)
		end()
	}
	require.Equal(t, said, out.String())
}

// Reasons, owners, names and what is wrong with an object are others' words. On a terminal
// they are shown and do nothing: sweep shows them right above its question.
func TestWhatOthersWroteActsOnNoTerminal(t *testing.T) {
	const evil = "x\x1b[2J\x1b]52;c;cm0gLXJm\a\u009b1A\x9b1A\r\u202efdp\nHalted: no\x7f"
	for name, colour := range map[string]bool{"on a terminal": true, "elsewhere": false} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := Page{Out: &out, Colour: colour}
			p.Line("halted by %s: %v, %v", evil, errors.New(evil), named(evil))
			p.Wrapped("", "why: "+evil)
			rows := p.Table("A", "B")
			rows.AppendRow(table.Row{p.Coloured(Bad, "failed"), evil})
			rows.Render()
			shown := out.String()
			if colour {
				require.Contains(t, shown, "\x1b[31mfailed\x1b[0m", "colours are Lifeboat's")
				shown = strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(shown)
			}
			for _, r := range shown {
				require.False(t, r != '\n' && acts(r), "%q in %q", r, shown)
			}
			require.NotContains(t, shown, "\x9b")
			for line := range strings.Lines(shown) {
				require.False(t, strings.HasPrefix(line, "Halted"), "a line of its own: %q", shown)
			}
			require.Equal(t, 4, strings.Count(shown, "fdp Halted: no"), "the words are there, on the lines that are Lifeboat's")
		})
	}
	require.Equal(t, "one\ntwo ", Lines("one\ntwo\t\x1b"))
}

type named string

func (n named) String() string { return string(n) }

// watched is a live view of two failovers, the first with 60 lines.
func watched(width, height int) *live {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	m := &live{now: func() time.Time { return at }, readAt: at, look: func(context.Context) (Picture, error) { return Picture{}, nil }}
	m.picture = Picture{
		Names: []string{"member1", "member2"},
		All:   func(p Page) { p.Line("Fleet: normal %s", strings.Repeat("wide ", 40)) },
		One: func(p Page, n int) {
			for line := range 60 / (1 + 29*n) {
				p.Line("line %d of member%d", line, n+1)
			}
		},
	}
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

func TestLive_AnyTerminal_FillsItAndNoMore(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {160, 50}, {40, 6}} {
		m := watched(size[0], size[1])
		lines := strings.Split(m.View(), "\n")
		require.Len(t, lines, size[1], "%v", size)
		for _, line := range lines {
			require.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), size[0], line)
		}
		require.Contains(t, lines[1], "── member1 (1 of 2) ─")
		require.Equal(t, "line 0 of member1", strings.TrimSpace(lines[2]))
		require.Contains(t, lines[size[1]-1], "q quit")
	}
}

func TestLive_Keys_ScrollAndChoose(t *testing.T) {
	m := watched(80, 24)
	m.Update(tea.KeyMsg{Type: tea.KeyDown})
	require.Equal(t, "line 1 of member1", strings.TrimSpace(strings.Split(m.View(), "\n")[2]))
	m.Update(tick(time.Now()))
	require.Contains(t, strings.Split(m.View(), "\n")[2], "line 1 ", "drawn again where it was")
	m.Update(tea.KeyMsg{Type: tea.KeyRight})
	fixtures.ContainsAll(t, m.View(), "member2 (2 of 2)", "line 0 of member2")
	m.Update(tea.KeyMsg{Type: tea.KeyRight})
	require.Contains(t, m.View(), "member1 (1 of 2)")
	_, end := m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")})
	require.Equal(t, tea.Quit(), end())
}

func TestLive_NoAnswer_KeepsTheLastPicture(t *testing.T) {
	m := watched(80, 24)
	readAt := m.readAt
	m.now = func() time.Time { return readAt.Add(9 * time.Second) }
	m.Update(seen{err: errors.New("no route")})
	fixtures.ContainsAll(t, m.View(), "not answered for 9s: no route", "line 0 of member1")
	m.Update(seen{picture: m.picture})
	require.NotContains(t, m.View(), "no route")
}

func TestLive_FirstLookFails_SaysSo(t *testing.T) {
	trouble := fmt.Errorf("no route")
	require.ErrorIs(t, Live(t.Context(), nil, "", func(context.Context) (Picture, error) { return Picture{}, trouble }), trouble)
}

// syncBuffer is a buffer that one goroutine writes while another reads.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
