// SPDX-License-Identifier: Apache-2.0

// Command ladder makes the figures of benchmarks/results/ladder.md: the target's loss, and prywalk's cost, against the
// number of threads.
//
//	go -C benchmarks run ./ladder -docs benchmarks/results/ladder.md
//	go -C benchmarks run ./ladder -only stops -rounds 2 -window 1s -warmup 1s   a short trial
//
// A running thread of the target (c/target.c) never blocks: a voluntary context switch is a stop (kernel/signal.c,
// ptrace_stop), another one a preemption. All is measured through memory that the target shares. Lengths of stops, and
// throughput, are measured beside a C program with the same five calls (c/walker.c).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"prywalk/benchmarks/command"
)

type settings struct {
	Parts []string
	// Threads in all, for stops; sleepers, for cost.
	Threads, Sleepers []int
	// Each thing is measured Rounds times, for Window, after a Warmup.
	Rounds         int
	Window, Warmup time.Duration
	// Binary is the prywalk to measure; "": built from this checkout.
	Binary string
	// Docs is the page with the section to replace; "": none.
	Docs string
}

type part struct {
	name, title string
	measure     func(*bench, context.Context) (string, error)
}

var parts = []part{
	{"stops", "Stops a second", (*bench).stopsPart},
	{"cost", "What prywalk itself takes", (*bench).costPart},
	{"lengths", "How long a stop is", (*bench).lengthsPart},
	{"throughput", "Throughput with and without", (*bench).throughputPart},
}

func main() {
	command.Main("ladder", func(ctx context.Context, args []string) error {
		s, err := parse(args)
		if err != nil {
			return err
		}
		return run(ctx, s, os.Stdout)
	})
}

func parse(args []string) (*settings, error) {
	s := &settings{Threads: []int{2, 10, 100, 500, 2000, 5000}, Sleepers: []int{0, 10, 100, 500, 2000, 5000}}
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	fl := flag.NewFlagSet("ladder", flag.ContinueOnError)
	only := fl.String("only", strings.Join(names, ","), "what to measure, separated by commas")
	fl.Var((*numbers)(&s.Threads), "threads", "threads in all, for stops")
	fl.Var((*numbers)(&s.Sleepers), "sleepers", "sleeping threads, for cost")
	fl.IntVar(&s.Rounds, "rounds", 7, "how often each thing is measured")
	fl.DurationVar(&s.Window, "window", 2*time.Second, "length of a window")
	fl.DurationVar(&s.Warmup, "warmup", 3*time.Second, "for how long a sampler runs before a window begins")
	fl.StringVar(&s.Binary, "prywalk", "", "the program to measure (default: built from this checkout)")
	fl.StringVar(&s.Docs, "docs", "",
		"put the tables between the markers of this page; those of parts that are not measured stay")
	if err := fl.Parse(args); err != nil {
		return nil, err
	}
	var err error
	if s.Parts, err = command.Only(*only, names); err != nil {
		return nil, err
	}
	if s.Rounds < 1 || s.Window <= 0 || s.Warmup < 0 || fl.NArg() > 0 {
		return nil, errors.New("rounds and lengths must be positive, and there are no arguments besides flags")
	}
	return s, nil
}

func run(ctx context.Context, s *settings, out io.Writer) error {
	b, err := newBench(s)
	if err != nil {
		return err
	}
	defer b.close()
	for _, p := range parts {
		if !slices.Contains(s.Parts, p.name) {
			continue
		}
		began := time.Now()
		text, err := p.measure(b, ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %.0f s\n", p.name, time.Since(began).Seconds())
		text = fmt.Sprintf("### %s\n\n%s\n", p.title, text)
		if _, err := io.WriteString(out, text+"\n"); err != nil {
			return err
		}
		if s.Docs != "" {
			if err := putPart(s.Docs, p.title, text); err != nil {
				return err
			}
		}
	}
	return nil
}
