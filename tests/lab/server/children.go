package server

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Child is one more server beside etcd, the API server and Temporal.
type Child struct {
	// Name is unique among the servers; its log is Name.log.
	Name string
	// Binary is the path of the program.
	Binary string
	// Ports is how many free ports Args and Ready get.
	Ports int
	Args  func(ports []int) []string
	// Ready asks whether it serves; nil: it is ready when it runs.
	Ready func(ctx context.Context, ports []int) error
}

// Add starts one more server and returns when it is ready.
func (s *Servers) Add(ctx context.Context, c Child) (ports []int, err error) {
	if s.Find(c.Name) != nil {
		return nil, fmt.Errorf("there is a server %q already", c.Name)
	}
	err = s.start(ctx, launch{
		ports: c.Ports,
		prepare: func(found []int) (Command, probe, error) {
			ports = found
			ready := func(ctx context.Context) error {
				if c.Ready == nil {
					return nil
				}
				return c.Ready(ctx, found)
			}
			log := filepath.Join(s.options.Dir, c.Name+".log")
			return Command{Name: c.Name, Binary: c.Binary, Args: c.Args(found), LogFile: log}, ready, nil
		},
		// A launch that is tried again replaces the process of the attempt before it.
		keep: func(p *Process) {
			s.children = append(slices.DeleteFunc(s.children, func(old *Process) bool { return old.Name() == c.Name }), p)
		},
	})
	return ports, err
}

// Find returns the server of that name that Add started, nil without one.
func (s *Servers) Find(name string) *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.children, func(p *Process) bool { return p.Name() == name })
	if at < 0 {
		return nil
	}
	return s.children[at]
}

// Kill kills a server that Add started with -9 and leaves it dead until [Servers.Again].
func (s *Servers) Kill(name string) error {
	p := s.Find(name)
	if p == nil {
		return fmt.Errorf("there is no server %q", name)
	}
	return p.crash()
}

// Again starts a killed server on the same ports and returns when it is ready.
func (s *Servers) Again(ctx context.Context, name string) error {
	p := s.Find(name)
	if p == nil {
		return fmt.Errorf("there is no server %q", name)
	}
	select {
	case <-p.exited:
	default:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := s.again(p, p.child, p.ready); err != nil {
		return err
	}
	return s.Find(name).waitReady(ctx, p.ready)
}

// Drop kills servers that Add started and forgets them. They store nothing of their own.
func (s *Servers) Drop(names ...string) error {
	var group errgroup.Group
	for _, name := range names {
		if p := s.Find(name); p != nil {
			group.Go(p.crash)
		}
	}
	err := group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.children = slices.DeleteFunc(s.children, func(p *Process) bool { return slices.Contains(names, p.Name()) })
	return err
}
