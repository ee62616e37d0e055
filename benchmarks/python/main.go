// SPDX-License-Identifier: Apache-2.0

// Command python makes the tables of benchmarks/results/python.md: prywalk beside other profilers of Python.
//
//	go -C benchmarks run ./python                          all programs, tables on standard output
//	go -C benchmarks run ./python -only flask -limit 40s   a short trial
//	go -C benchmarks run ./python -settle 2s -window 6s    windows without the start of a recording
//	go -C benchmarks run ./python -attach 15               how soon prywalk names a stack, and what that costs
//
// A program first runs with sys.monitoring, which notes all pairs of caller and callee: a stack with a call that never
// happened is wrong, one that does not begin where a thread begins is cut. Packages of PyPI are installed in a
// temporary folder, or that of -dir.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"prywalk/benchmarks/command"
)

type settings struct {
	only           []string
	dir            string
	python, newest string
	prywalk        string
	before         string
	window, limit  time.Duration
	settle         time.Duration
	attach         int
	prepare        bool
	tools          *regexp.Regexp
	json, page     string
}

func main() {
	command.Main("python", func(ctx context.Context, args []string) error {
		s, err := parse(args)
		if err != nil {
			return err
		}
		return s.run(ctx)
	})
}

func parse(args []string) (*settings, error) {
	s := &settings{}
	fl := flag.NewFlagSet("python", flag.ContinueOnError)
	only := fl.String("only", "", "these programs, separated by commas")
	fl.StringVar(&s.dir, "dir", "", "where packages of PyPI are installed, and kept (default: a temporary folder)")
	fl.StringVar(&s.python, "python", "", "the interpreter, 3.12 or 3.13 (default: pyenv's, or python3.12 in PATH)")
	fl.StringVar(&s.newest, "newest", "/usr/local/lib/python-releases/3.15/bin/python3",
		"the interpreter that has Tachyon, 3.15 (scripts/setup-pythons.sh)")
	fl.StringVar(&s.prywalk, "prywalk", "", "the prywalk to measure; built if it is not given")
	fl.StringVar(&s.before, "before", "", "another build of prywalk, which is measured beside it")
	fl.DurationVar(&s.window, "window", 800*time.Millisecond, "length of a window")
	fl.DurationVar(&s.settle, "settle", 600*time.Millisecond, "how long a tool has until a window begins (Tachyon: 1.8s "+
		"at least)")
	fl.IntVar(&s.attach, "attach", 0, "measure only prywalk's start, with so many recordings and dumps")
	fl.DurationVar(&s.limit, "limit", 160*time.Second, "begin no more rounds of a program after this time")
	tools := fl.String("tools", "", "only tools that this regular expression matches, such as 'prywalk, 100 Hz'")
	fl.BoolVar(&s.prepare, "prepare", false, "install what is needed, note who calls whom, and measure nothing")
	fl.StringVar(&s.json, "json", "", "write the figures to this file; those of other programs that it has are kept")
	fl.StringVar(&s.page, "docs", "", "put the tables between the markers of this page")
	if err := fl.Parse(args); err != nil {
		return nil, err
	}
	if s.window <= 0 || s.settle < 0 || s.attach < 0 {
		return nil, errors.New("-window must be positive, -settle and -attach must not be negative")
	}
	var err error
	if s.tools, err = regexp.Compile(*tools); err != nil {
		return nil, err
	}
	s.only, err = command.Only(*only, programNames())
	return s, err
}

func (s *settings) run(ctx context.Context) error {
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "prywalk-python-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		s.dir = dir
	}
	e, err := s.install(ctx)
	if err != nil {
		return err
	}
	if s.prywalk, err = command.Prywalk(s.prywalk, s.dir); err != nil {
		return err
	}
	fig, err := load(s.json)
	if err != nil {
		return err
	}
	for i := range programs {
		p := &programs[i]
		if !s.wanted(p.name) {
			continue
		}
		if why := e.lacks(p); why != "" {
			fmt.Fprintf(os.Stderr, "python: %s is left out: %s\n", p.name, why)
			continue
		}
		if err := s.runProgram(ctx, e, p, fig); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (s *settings) runProgram(ctx context.Context, e *environment, p *program, fig *allFigures) error {
	if s.attach > 0 {
		return s.measureAttach(ctx, e, p)
	}
	known, err := e.edges(ctx, p)
	if err != nil || s.prepare {
		return err
	}
	f, err := s.measure(ctx, e, p, known)
	if err != nil {
		return err
	}
	fig.add(f)
	if err := fig.write(s.json, s.page); err != nil {
		return err
	}
	fmt.Print(fig.only(p.name).markdown())
	return nil
}

func (s *settings) wanted(name string) bool {
	for _, n := range s.only {
		if n == name {
			return true
		}
	}
	return false
}
