package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mutant is one patch that takes one guard out, with what its header says.
type Mutant struct {
	Name string // the file's name without its ending
	File string // absolute
	// Invariant is its number, or that of the section of the rules; Guard says in words what is removed.
	Invariant, Guard string
	// Package and Test are what must fail: a package as `go test` takes it, and one test's name.
	Package, Test string
	// Theme is what the simulator plays, and Seeds within how many of those it must find it.
	Theme string
	Seeds int
	// Sim is why the simulator cannot see it, by construction; empty where it must.
	Sim string
}

// load reads every patch of a folder, in the order of their names. It fails on a
// header that is not complete.
func load(dir string) ([]Mutant, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	all := make([]Mutant, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		m.File, m.Name = file, strings.TrimSuffix(filepath.Base(file), ".patch")
		all = append(all, m)
	}
	return all, nil
}

// parse reads the header: all that stands before the first line of the diff.
func parse(text string) (Mutant, error) {
	header, _, found := strings.Cut(text, "\n--- a/")
	if !found {
		return Mutant{}, fmt.Errorf("no diff")
	}
	var m Mutant
	var seeds string
	fields := map[string]*string{"Invariant": &m.Invariant, "Guard": &m.Guard, "Package": &m.Package, "Test": &m.Test, "Sim": &m.Sim, "Theme": &m.Theme, "Seeds": &seeds}
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(line, ":")
		if field := fields[name]; field != nil {
			*field = strings.TrimSpace(value)
		}
	}
	for _, name := range []string{"Sim", "Theme", "Seeds"} {
		delete(fields, name) // one way or the other
	}
	if m.Seeds, _ = strconv.Atoi(seeds); m.Theme != "" && m.Seeds <= 0 {
		return Mutant{}, fmt.Errorf("the header names a theme, and not within how many seeds")
	}
	for name, field := range fields {
		if *field == "" {
			return Mutant{}, fmt.Errorf("the header has no %q", name)
		}
	}
	return m, nil
}
