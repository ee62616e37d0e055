// SPDX-License-Identifier: Apache-2.0

// Command reads makes the figures of benchmarks/results/sleepers.md on sleeping threads.
//
//	go -C benchmarks run ./passivereads                    all programs, tables on standard output
//	go -C benchmarks run ./passivereads -only c-O0 -d 2s   a short trial
//	go -C benchmarks run ./passivereads -docs              the tables go into benchmarks/results/sleepers.md
//
// The thread's run count proves that a passive read, a stop, and a passive read are in the same sleep: between the
// first two it arrived on a processor once, to stop. Sleepers are only stopped in calls that a stop does not harm.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"prywalk/benchmarks/command"
	"prywalk/benchmarks/markdown"
	"prywalk/internal/testtargets"
)

const page = "benchmarks/results/sleepers.md"

func main() { command.Main("passivereads", run) }

func run(ctx context.Context, args []string) error {
	fl := flag.NewFlagSet("passivereads", flag.ContinueOnError)
	only := fl.String("only", "", "programs, separated by commas (default: all)")
	d := fl.Duration("d", 10*time.Second, "how long each program is watched, twice")
	docs := fl.Bool("docs", false, "put the tables into "+page)
	if err := fl.Parse(args); err != nil {
		return err
	}
	names, err := command.Only(*only, programNames())
	if err != nil {
		return err
	}
	var all []result
	for _, name := range names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r := measure(ctx, name, *d)
		fmt.Fprintln(os.Stderr, r.brief())
		all = append(all, r)
	}
	text := tables(all, *d)
	if *docs {
		return markdown.ReplaceSection(page, sectionName, func(string) string { return text })
	}
	_, err = fmt.Print(text)
	return err
}

func measure(ctx context.Context, name string, d time.Duration) result {
	r := result{name: name}
	t, err := start(name, 2*d+time.Minute)
	if err != nil {
		r.err = err
		return r
	}
	defer t.stop()
	testtargets.Settle(ctx, name)
	if r.asleep, r.err = watch(ctx, t, d); r.err == nil {
		r.same, r.err = compare(ctx, t, d)
	}
	return r
}
