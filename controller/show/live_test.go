package show

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"
)

// watched is a live view of two failovers, the first with 60 lines.
func watched(width, height int) *live {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	m := &live{now: func() time.Time { return at }, asked: at, look: func(context.Context) (Picture, error) { return Picture{}, nil }}
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
	require.Contains(t, m.View(), "member2 (2 of 2)")
	require.Contains(t, m.View(), "line 0 of member2")
	m.Update(tea.KeyMsg{Type: tea.KeyRight})
	require.Contains(t, m.View(), "member1 (1 of 2)")
	_, end := m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")})
	require.Equal(t, tea.Quit(), end())
}

func TestLive_NoAnswer_KeepsTheLastPicture(t *testing.T) {
	m := watched(80, 24)
	asked := m.asked
	m.now = func() time.Time { return asked.Add(9 * time.Second) }
	m.Update(seen{err: errors.New("no route")})
	require.Contains(t, m.View(), "not answered for 9s: no route")
	require.Contains(t, m.View(), "line 0 of member1")
	m.Update(seen{picture: m.picture})
	require.NotContains(t, m.View(), "no route")
}

func TestLive_FirstLookFails_SaysSo(t *testing.T) {
	trouble := fmt.Errorf("no route")
	require.ErrorIs(t, Live(t.Context(), nil, "", func(context.Context) (Picture, error) { return Picture{}, trouble }), trouble)
}
