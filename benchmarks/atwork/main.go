// SPDX-License-Identifier: Apache-2.0

// Command atwork makes the figures of benchmarks/results/atwork.md, of programs in the middle of their work:
//
//	scripts/setup-atwork.sh                                           installs the programs (as root, Debian)
//	go -C benchmarks run ./atwork -docs                               all of them, tables into the pages (an hour)
//	go -C benchmarks run ./atwork -quick                              a tenth of the stacks
//	go -C benchmarks run ./atwork -docs -json rows.json -missing      resumes such a run
//	go -C benchmarks run ./atwork -gaps 10s                           how often the machine takes a processor away
//	go -C benchmarks run ./atwork -twice                              other programs, by root and by their own user
//	go -C benchmarks run ./atwork -only vp9,r -before ./prywalk-old   beside another build
//
// Each program is recorded until it has enough stacks of running threads.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prywalk/benchmarks/command"
	"prywalk/internal/testtargets"
)

type settings struct {
	programs        []program
	stacks          int64
	freq            int
	settle, longest time.Duration
	gaps            time.Duration
	binary, before  string
	engine          string
	json            string
	docs, missing   bool
	twoUsers        bool
	only            []string
}

func main() {
	command.Main("atwork", func(ctx context.Context, args []string) error {
		s, err := parse(args)
		if err != nil {
			return err
		}
		return s.run(ctx, os.Stdout)
	})
}

func parse(args []string) (*settings, error) {
	s := &settings{}
	fl := flag.NewFlagSet("atwork", flag.ContinueOnError)
	only := fl.String("only", "", "programs, separated by commas (default: all)")
	quick := fl.Bool("quick", false, "1,000 stacks of each program, at most 6 s")
	fl.Int64Var(&s.stacks, "stacks", 10_000, "stacks of running threads of each program")
	fl.IntVar(&s.freq, "freq", 499, "samples a second")
	fl.DurationVar(&s.settle, "settle", 5*time.Second, "how long a program warms up")
	fl.DurationVar(&s.longest, "longest", 2*time.Minute, "no recording is longer")
	fl.StringVar(&s.binary, "prywalk", "", "the program to measure (default: built from this checkout)")
	fl.StringVar(&s.engine, "engine", "ptrace", "how running threads are seen: ptrace, perf, auto")
	fl.StringVar(&s.before, "before", "", "another build, for the column \"before\"")
	fl.StringVar(&s.json, "json", "", "write the figures to this file; those that it has of other programs are kept")
	fl.BoolVar(&s.missing, "missing", false, "leave out the programs that the file of -json has figures of")
	fl.DurationVar(&s.gaps, "gaps", 0,
		"measure nothing, but watch for so long how often the machine takes a processor away")
	fl.BoolVar(&s.docs, "docs", false, "put the tables into "+page)
	fl.BoolVar(&s.twoUsers, "twice", false, "record the programs of "+scripts+
		" as root and as an ordinary user, and write a table (needs root)")
	if err := fl.Parse(args); err != nil {
		return nil, err
	}
	if *quick {
		s.stacks, s.settle, s.longest = 1000, time.Second, 6*time.Second
	}
	if s.stacks < 1 || s.freq < 1 || s.settle < 0 || s.longest <= 0 || fl.NArg() > 0 {
		return nil, errors.New("stacks, rates and lengths must be positive, and there are no arguments besides flags")
	}
	if s.twoUsers {
		s.only = strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })
		return s, nil
	}
	all := programs()
	chosen, err := command.Only(*only, names(all))
	if err != nil {
		return nil, err
	}
	s.programs = slices.DeleteFunc(all, func(p program) bool { return !slices.Contains(chosen, p.name) })
	return s, nil
}

func names(list []program) (names []string) {
	for i := range list {
		names = append(names, list[i].name)
	}
	return names
}

func (s *settings) run(ctx context.Context, out io.Writer) error {
	if s.gaps > 0 {
		_, err := fmt.Fprintln(out, watchGaps(s.gaps))
		return err
	}
	if s.twoUsers {
		return s.runTwice(ctx)
	}
	all, err := load(s.json)
	if err != nil {
		return err
	}
	if s.missing {
		s.programs = slices.DeleteFunc(s.programs, func(p program) bool { return has(all, p.name) })
	}
	if s.binary == "" && len(s.programs) > 0 {
		remove, err := s.build()
		if err != nil {
			return err
		}
		defer remove()
	}
	for i := range s.programs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r := s.measure(ctx, &s.programs[i])
		fmt.Fprintln(os.Stderr, r.brief())
		all = replaceRow(all, r)
		if err := save(s.json, all); err != nil {
			return err
		}
	}
	if s.docs {
		if err := s.publish(all); err != nil {
			return err
		}
	}
	_, err = io.WriteString(out, s.text(all))
	return err
}

func (s *settings) runTwice(ctx context.Context) error {
	if s.binary == "" {
		remove, err := s.build()
		if err != nil {
			return err
		}
		defer remove()
		if err := os.Chmod(filepath.Dir(s.binary), 0o755); err != nil { //nolint:gosec // another user runs it
			return err
		}
	}
	return s.twice(ctx, s.only)
}

func (s *settings) build() (remove func(), err error) {
	dir, err := os.MkdirTemp("", "prywalk-atwork-")
	if err != nil {
		return nil, err
	}
	s.binary = filepath.Join(dir, "prywalk")
	if err := testtargets.BuildPrywalk(s.binary); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return func() { _ = os.RemoveAll(dir) }, nil
}
