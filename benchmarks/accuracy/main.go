// SPDX-License-Identifier: Apache-2.0

// Command accuracy makes the figures of benchmarks/results/completeness.md and shares.md.
//
//	go -C benchmarks run ./accuracy                                  all programs, a table on standard output
//	go -C benchmarks run ./accuracy -only cpp,redis -d 3s -pairs 8   a short trial
//	go -C benchmarks run ./accuracy -json figures.json -markdown benchmarks/results/shares.md
//
// With -json, figures of programs that are not measured again are kept.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"prywalk/benchmarks/command"
	"prywalk/internal/testtargets"
)

type settings struct {
	Only     []string      `json:"-"`
	Duration time.Duration `json:"-"`
	Seconds  float64       `json:"seconds"`
	// Pairs of slices of SliceSeconds, beside perf at Freq.
	Pairs        int     `json:"pairs"`
	SliceSeconds float64 `json:"slice_seconds"`
	Freq         int     `json:"freq"`
	// Runs is the number of start-ups; naming has half as many.
	Runs  int           `json:"runs"`
	Limit time.Duration `json:"-"`
	// Binary is the prywalk to measure; "": built from this checkout.
	Binary string `json:"-"`
	JSON   string `json:"-"`
	// Completeness: only count complete stacks, of more programs.
	Completeness bool   `json:"-"`
	Page         string `json:"-"`
}

const (
	startupName = "startup"
	namingName  = "naming"
)

func main() {
	command.Main("accuracy", func(ctx context.Context, args []string) error {
		s, err := parse(args)
		if err != nil {
			return err
		}
		return run(ctx, s, os.Stdout)
	})
}

func parse(args []string) (*settings, error) {
	s := &settings{}
	fl := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	only := fl.String("only", "", "what to measure, separated by commas: targets, "+startupName+", "+namingName+
		" (default: all)")
	fl.DurationVar(&s.Duration, "d", 10*time.Second, "length of the recording of each target")
	fl.IntVar(&s.Pairs, "pairs", 20, "pairs of slices for the comparison with perf, 0 for none")
	slice := fl.Duration("slice", 500*time.Millisecond, "length of a slice")
	fl.IntVar(&s.Freq, "freq", 499, "samples a second in the comparison with perf")
	fl.IntVar(&s.Runs, "runs", 10, "how often start-up is measured; naming half as often")
	fl.DurationVar(&s.Limit, "limit", 12*time.Minute, "begin nothing more after this time")
	fl.StringVar(&s.Binary, "prywalk", "", "the program to measure (default: built from this checkout)")
	fl.StringVar(&s.JSON, "json", "", "write the figures to this file; those that it has already are kept")
	fl.StringVar(&s.Page, "markdown", "", "put the tables between the markers of this page, which is made if missing")
	fl.BoolVar(&s.Completeness, "completeness", false,
		"count complete stacks only, of these and more programs, as the table on complete stacks has them")
	if err := fl.Parse(args); err != nil {
		return nil, err
	}
	s.SliceSeconds, s.Seconds = slice.Seconds(), s.Duration.Seconds()
	known := append(testtargets.Names(), startupName, namingName)
	if s.Completeness {
		known = stackNames()
	}
	var err error
	if s.Only, err = command.Only(*only, known); err != nil {
		return nil, err
	}
	if s.Duration <= 0 || *slice <= 0 || s.Pairs < 0 || s.Runs < 1 || s.Freq < 1 || s.Pairs == 1 {
		return nil, errors.New("lengths, frequencies and counts must be positive, and pairs 0, 2 or more")
	}
	return s, nil
}

func run(ctx context.Context, s *settings, out io.Writer) error {
	b, err := newBench(s)
	if err != nil {
		return err
	}
	defer b.close()
	fig, err := loadFigures(s.JSON)
	if err != nil {
		return err
	}
	fig.Machine, fig.Settings, fig.Date = thisSetting(), *s, time.Now().UTC().Format(time.DateOnly)
	if s.Completeness {
		err := s.each(ctx, fig, func(name string) string {
			row := b.stacks(ctx, name)
			fig.addStacks(row)
			return row.brief()
		})
		fmt.Fprint(out, fig.stacksMarkdown())
		return err
	}
	err = s.each(ctx, fig, func(name string) string {
		fig.add(b.measure(ctx, name))
		return fig.brief(name)
	})
	if err != nil {
		return err
	}
	fig.judge()
	if err := fig.write(s); err != nil {
		return err
	}
	_, err = io.WriteString(out, fig.markdown())
	return err
}

// each writes after each target, so that an interrupted run loses nothing.
func (s *settings) each(ctx context.Context, fig *figures, measure func(name string) (brief string)) error {
	end := time.Now().Add(s.Limit)
	for _, name := range s.Only {
		if ctx.Err() != nil {
			break
		}
		if time.Now().After(end) {
			fmt.Fprintf(os.Stderr, "accuracy: the time limit of %v is over before %s; go on with -only\n", s.Limit, name)
			break
		}
		began := time.Now()
		fmt.Fprintf(os.Stderr, "%-16s", name)
		brief := measure(name)
		fmt.Fprintf(os.Stderr, "%6.1f s  %s\n", time.Since(began).Seconds(), brief)
		if err := fig.write(s); err != nil {
			return err
		}
	}
	return nil
}
