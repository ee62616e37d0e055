// SPDX-License-Identifier: Apache-2.0

// Deadlocks reads the locks of contended servers, as dump --locks does, and counts waits, owners, and deadlocks, of
// which there are none.
//
//	go -C benchmarks run ./deadlocks                                  ten minutes of each
//	go -C benchmarks run ./deadlocks -d 30s -only mariadb-contended   a short trial
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"prywalk/benchmarks/command"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/waits"
)

var programs = []string{"redis-contended", "postgres-contended", "mariadb-contended", "java-contended"}

func main() { command.Main("deadlocks", run) }

var errFalse = errors.New("a deadlock was reported of a program that has none")

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("deadlocks", flag.ContinueOnError)
	length := flags.Duration("d", 10*time.Minute, "for how long each program is looked at")
	only := flags.String("only", "", "the programs, separated by commas: all of "+strings.Join(programs, ","))
	together := flags.Bool("together", false, "look at all programs at the same time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	names, err := command.Only(*only, programs)
	if err != nil {
		return err
	}
	all, err := observeEach(ctx, names, *length, *together)
	write(os.Stdout, all)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Deadlocks > 0 {
			return fmt.Errorf("%s: %w", t.Program, errFalse)
		}
	}
	return nil
}

func observeEach(ctx context.Context, names []string, length time.Duration, together bool) ([]*tally, error) {
	all, errs := make([]*tally, len(names)), make([]error, len(names))
	var running sync.WaitGroup
	for i, name := range names {
		running.Go(func() { all[i], errs[i] = lookAt(ctx, name, length) })
		if !together {
			running.Wait()
		}
	}
	running.Wait()
	return slices.DeleteFunc(all, func(t *tally) bool { return t == nil }), errors.Join(errs...)
}

func lookAt(ctx context.Context, name string, length time.Duration) (*tally, error) {
	target, err := testtargets.Start(name, testtargets.Options{Limit: length + 10*time.Minute})
	if err != nil {
		return nil, err
	}
	defer target.Stop()
	began := time.Now()
	return watch(ctx, name, target.PIDs, func(*tally) bool { return time.Since(began) >= length })
}

func (t *tally) kinds() string {
	kinds := slices.Sorted(maps.Keys(t.Waits))
	slices.SortStableFunc(kinds, func(a, b waits.Kind) int { return t.Waits[b] - t.Waits[a] })
	var text []string
	for _, k := range kinds {
		text = append(text, fmt.Sprintf("%s %d", k, t.Waits[k]))
	}
	return strings.Join(text, ", ")
}
