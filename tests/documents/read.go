package documents

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// pages are the documents, below the root; docs/console.md has a story of its own for its
// console blocks, which are not read here.
var pages = []string{"README.md", "deploy/README.md", "docs/*.md", "tests/lab/README.md", "tests/replay/README.md"}

// Command is one that a document says to type.
type Command struct {
	Document string // below the root
	Line     int    // from 1
	// Text is in one line, without its comment.
	Text string
}

func (c Command) String() string { return fmt.Sprintf("%s:%d: %s", c.Document, c.Line, c.Text) }

// programs are what a command begins with.
var programs = []string{
	"bin/demo", "ctr", "exec", "export", "for", "go", "helm", "jq", "karmadactl", "kubectl", "lab", "lifeboat", "lifeboat-worker", "make", "podman",
	"sed", "skopeo", "temporal",
}

// Read finds every command of every document below root.
func Read(root string) ([]Command, error) {
	var all []Command
	for _, page := range pages {
		files, err := filepath.Glob(filepath.Join(root, page))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("there is no %s", page)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file) //nolint:gosec // of this repository
			if err != nil {
				return nil, err
			}
			name, err := filepath.Rel(root, file)
			if err != nil {
				return nil, err
			}
			all = append(all, of(name, string(raw))...)
		}
	}
	return all, nil
}

// of are the commands of one document: in its blocks, and in its text.
func of(name, text string) []Command {
	var out []Command
	line := 1
	for i, part := range strings.Split("\n"+text, "\n```") {
		if i%2 == 1 {
			out = append(out, inBlock(part, line)...)
		} else {
			out = append(out, inText(part, line)...)
		}
		line += strings.Count(part, "\n") + 1
	}
	out = slices.DeleteFunc(out, func(c Command) bool { return form(c.Text) })
	for i := range out {
		out[i].Document, out[i].Line = name, out[i].Line-1
	}
	return out
}

// comment is what follows a command: behind a #, or after two blanks or more.
var comment = regexp.MustCompile(`(^|\s)#.*| {2,}.*`)

// inBlock are the commands of a fenced block, first its language. A block of
// something else has no line that begins with a program.
func inBlock(block string, at int) []Command {
	language, body, _ := strings.Cut(block, "\n")
	if language != "" && language != "sh" {
		return nil
	}
	var out []Command
	open := "" // of a command that goes on in the next line
	for i, line := range strings.Split(body, "\n") {
		line = strings.TrimSpace(comment.ReplaceAllString(strings.TrimSpace(line), ""))
		whole, goesOn := strings.CutSuffix(strings.TrimSpace(open+" "+line), `\`)
		switch {
		case goesOn, strings.HasPrefix(whole, "for ") && !strings.HasSuffix(whole, "done"):
			open = whole
			continue
		case begins(whole):
			out = append(out, Command{Line: at + 1 + i, Text: strings.Join(strings.Fields(whole), " ")})
		}
		open = ""
	}
	return out
}

var code = regexp.MustCompile("`([^`\n]+(?:\n[^`\n]+)?)`")

// inText are the commands in the running text. A word alone is a name.
func inText(text string, at int) []Command {
	var out []Command
	for _, found := range code.FindAllStringSubmatchIndex(text, -1) {
		said := strings.Join(strings.Fields(text[found[2]:found[3]]), " ")
		if begins(said) && strings.Contains(said, " ") {
			out = append(out, Command{Line: at + strings.Count(text[:found[2]], "\n"), Text: said})
		}
	}
	return out
}

func begins(line string) bool {
	program, _, _ := strings.Cut(line, " ")
	return slices.Contains(programs, program)
}

var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"`)

// form tells what shows how a command looks and is none: lab kill MEMBER...
func form(line string) bool {
	bare := quoted.ReplaceAllString(line, "")
	return strings.ContainsAny(bare, "[…") || strings.Contains(strings.ReplaceAll(bare, "./...", ""), "...")
}
