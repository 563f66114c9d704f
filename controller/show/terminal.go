package show

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/bubbles/viewport"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/wait"
)

// patience is the time before progress is shown.
const patience = time.Second

// Progress shows on a terminal what takes longer than a moment, and how far it is. It is silent elsewhere.
type Progress struct {
	out   io.Writer // nil: silent
	after time.Duration
	mu    sync.Mutex
	what  string
	done  int
	total int
	began time.Time
	said  bool
}

// NewProgress is silent if out is no terminal.
func NewProgress(out io.Writer) *Progress {
	if !IsTerminal(out) {
		out = nil
	}
	return &Progress{out: out, after: patience}
}

// Begin shows a named step until end is called, which removes its line.
func (p *Progress) Begin(what string) (end func()) {
	if p == nil || p.out == nil {
		return func() {}
	}
	p.mu.Lock()
	p.what, p.done, p.total, p.began, p.said = what, 0, 0, time.Now(), false
	p.mu.Unlock()
	stop := make(chan struct{})
	var saying sync.WaitGroup
	saying.Go(func() { p.keepSaying(stop) })
	return func() {
		close(stop)
		saying.Wait()
	}
}

// Step sets the progress; a total of 0 is unknown.
func (p *Progress) Step(done, total int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.done, p.total = done, total
	p.mu.Unlock()
}

func (p *Progress) keepSaying(stop <-chan struct{}) {
	ticker := time.NewTicker(p.after)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			if p.said {
				_, _ = io.WriteString(p.out, "\r"+clearRight)
			}
			return
		case <-ticker.C:
			_, _ = io.WriteString(p.out, "\r"+p.line()+clearRight)
			p.said = true
		}
	}
}

func (p *Progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	far := ""
	switch {
	case p.total > 0:
		far = fmt.Sprintf(" %d of %d", p.done, p.total)
	case p.done > 0:
		far = fmt.Sprintf(" %d", p.done)
	}
	return fmt.Sprintf("%s ...%s (%s)", p.what, far, view.Span(time.Since(p.began)))
}

// refresh is the interval of live output.
const refresh = 2 * time.Second

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// clearRight removes the rest of a line.
const clearRight = "\x1b[K"

// Again shows until ctx ends, which is no error: the operator stopped it.
func Again(ctx context.Context, show func(context.Context) error) error {
	err := wait.PollUntilContextCancel(ctx, refresh, true, func(ctx context.Context) (bool, error) { return false, show(ctx) })
	if ctx.Err() == nil {
		return err
	}
	return nil // the operator stopped it
}

// Picture is the content of a live view: All above, and One of Names below it.
type Picture struct {
	All func(Page)
	// Names can be chosen, in the order of One.
	Names []string
	One   func(p Page, n int)
}

// Live shows a picture on a terminal until q is pressed or ctx ends. It is read every two seconds, and drawn every
// second, so that ages are current.
func Live(ctx context.Context, out io.Writer, first string, look func(context.Context) (Picture, error)) error {
	m := &live{ctx: ctx, look: look, chosen: first, colour: true, now: time.Now}
	if m.picture, m.failed = look(ctx); m.failed != nil {
		return m.failed
	}
	m.readAt = m.now()
	_, err := tea.NewProgram(m, tea.WithAltScreen(), tea.WithContext(ctx), tea.WithOutput(out)).Run()
	if ctx.Err() == nil && !errors.Is(err, tea.ErrInterrupted) {
		return err
	}
	return nil // stopped by the person who watched
}

type live struct {
	ctx     context.Context //nolint:containedctx // a model has no other way to what it asks
	look    func(context.Context) (Picture, error)
	now     func() time.Time
	picture Picture
	readAt  time.Time
	failed  error
	chosen  string
	colour  bool
	below   viewport.Model
	width   int
	height  int
}

type (
	tick time.Time
	seen struct {
		picture Picture
		err     error
	}
)

func (m *live) query() tea.Msg {
	picture, err := m.look(m.ctx)
	return seen{picture, err}
}

func everySecond() tea.Cmd {
	return tea.Tick(time.Second, func(at time.Time) tea.Msg { return tick(at) })
}

// Init implements [tea.Model].
func (m *live) Init() tea.Cmd {
	return tea.Batch(everySecond(), tea.Tick(refresh, func(time.Time) tea.Msg { return m.query() }))
}

// Update implements [tea.Model].
func (m *live) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var next tea.Cmd
	switch x := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = x.Width, x.Height
	case tick:
		next = everySecond()
	case seen:
		if m.failed = x.err; x.err == nil {
			m.picture, m.readAt = x.picture, m.now()
		}
		next = tea.Tick(refresh, func(time.Time) tea.Msg { return m.query() })
	case tea.KeyMsg:
		switch x.String() {
		case "q", "esc", "ctrl+c":
			return m, tea.Quit
		case "right", "tab", "n":
			m.choose(1)
		case "left", "shift+tab", "p":
			m.choose(-1)
		default:
			m.below, next = m.below.Update(msg) // scrolls
			return m, next
		}
	}
	m.draw()
	return m, next
}

// choose selects the next name, in a circle.
func (m *live) choose(by int) {
	if n := len(m.picture.Names); n > 0 {
		m.chosen = m.picture.Names[(m.at()+by+n)%n]
		m.below.GotoTop()
	}
}

// at is the index of the chosen name, or 0.
func (m *live) at() int { return max(0, slices.Index(m.picture.Names, m.chosen)) }

// lines draws one part within the terminal's width.
func (m *live) lines(draw func(Page)) []string {
	var out bytes.Buffer
	draw(Page{Out: &out, Now: m.now(), Colour: m.colour, Columns: m.width})
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	for n, line := range lines {
		lines[n] = Short(line, m.width)
		if m.colour && strings.Contains(line, "\x1b") {
			lines[n] += text.Reset.EscapeSeq()
		}
	}
	return lines
}

// draw fills the part that scrolls; the overview stays above it.
func (m *live) draw() {
	if m.width == 0 {
		return
	}
	m.below.Width, m.below.Height = m.width, max(1, m.height-len(m.above())-1)
	var content []string
	if len(m.picture.Names) > 0 {
		content = m.lines(func(p Page) { m.picture.One(p, m.at()) })
	}
	m.below.SetContent(strings.Join(content, "\n"))
}

// above is the overview, in at most half of the height, and the title of the chosen failover.
func (m *live) above() []string {
	lines := m.lines(m.picture.All)
	if most := max(1, m.height/2-1); len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("... %d more lines: lifeboat status", len(lines)-most+1))
	}
	if n := len(m.picture.Names); n > 0 {
		title := fmt.Sprintf("── %s (%d of %d) ", m.picture.Names[m.at()], m.at()+1, n)
		lines = append(lines, Short(title+strings.Repeat("─", max(0, m.width-text.StringWidthWithoutEscSequences(title))), m.width))
	}
	return lines
}

// View implements [tea.Model].
func (m *live) View() string {
	if m.width == 0 {
		return ""
	}
	foot := "↑↓ scroll · ←→ choose · q quit"
	if !m.below.AtBottom() {
		foot += fmt.Sprintf(" · %.0f %%", 100*m.below.ScrollPercent())
	}
	if m.failed != nil {
		foot = fmt.Sprintf("not answered for %s: %s", view.Span(m.now().Sub(m.readAt)), Page{}.Plain(m.failed.Error()))
	}
	return strings.Join(m.above(), "\n") + "\n" + m.below.View() + "\n" + Short(foot, m.width)
}
