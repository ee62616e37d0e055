// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"prywalk/internal/bench"
	"prywalk/internal/bench/load"
	"prywalk/internal/bench/tools"
	"prywalk/internal/commandline"
	"prywalk/internal/console"
	"prywalk/internal/exit"
	"prywalk/internal/outfile"
	"prywalk/internal/profile"
)

type benchFlags struct {
	quick, peers bool
	json, svg    string
	threads      []int
	freqs        []float64
	running      []int
	pairs        int
	window       time.Duration
	limit        time.Duration
	precision    float64
	engine       string
}

func newBench() *cobra.Command {
	f := &benchFlags{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "measure the overhead of sampling on this machine, by number of threads",
		Long: `  prywalk bench --quick
  prywalk bench --json bench.json --svg bench.svg
  prywalk bench --peers --threads 2,1000 --limit 20m

Starts a workload with few running and many sleeping threads, measures its throughput
without and with prywalk record on it, in pairs of neighbouring windows, and prints the
ratio with its 95% interval, and the stops and system calls that the sampling took.

With --peers, the same is done with the tools that are installed: perf, gdb, eu-stack,
samply.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run() },
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.quick, "quick", false, "a short form that ends within 50 s")
	fl.BoolVar(&f.peers, "peers", false, "measure the other tools that are installed, too")
	fl.StringVar(&f.json, "json", "", "write the result to this file")
	fl.StringVar(&f.svg, "svg", "", "write a chart to this file")
	fl.IntSliceVar(&f.threads, "threads", nil, "numbers of threads")
	fl.Float64SliceVar(&f.freqs, "freq", nil, "sampling rates in Hz")
	fl.IntSliceVar(&f.running, "running", nil, "how many of the threads work")
	fl.IntVar(&f.pairs, "pairs", 0, "pairs for each row; with --precision the least")
	fl.Var(commandline.Seconds(&f.window), "window", "length of a window; a pair has two")
	fl.Var(commandline.Seconds(&f.limit), "limit", "make fewer pairs, but 3, so that it ends after about this time")
	f.precision = -1
	fl.Var(commandline.Percent(&f.precision), "precision",
		"add pairs until the interval is within ± this, 3 minutes at most for a row; 0: do not (1% unless given, 0 with "+
			"--quick)")
	fl.Lookup("precision").DefValue = "0" // depends on --quick and the flag
	fl.StringVar(&f.engine, "engine", enginePtrace, "how running threads are sampled: ptrace (costs more), perf or auto")
	fl.SortFlags = false
	return cmd
}

func (f *benchFlags) plan() (bench.Plan, error) {
	self, err := selfPath()
	if err != nil {
		return bench.Plan{}, err
	}
	p := bench.Full(self)
	if f.quick {
		p = bench.Quick(self)
		if len(f.threads)+len(f.freqs)+len(f.running)+f.pairs > 0 || f.window != 0 {
			p.Limit = 0
		}
	}
	if p.Engine = f.engine; f.peers {
		p.Peers = tools.Peers()
	}
	if len(f.threads) > 0 {
		p.Threads, p.PeerThreads = f.threads, f.threads
	}
	if len(f.freqs) > 0 {
		p.Freqs = f.freqs
	}
	if len(f.running) > 0 {
		p.Running = f.running
	}
	if f.pairs != 0 {
		p.Pairs, p.PeerPairs = f.pairs, f.pairs
	}
	if f.window != 0 {
		p.Window = f.window
	}
	if f.precision >= 0 {
		p.Precision = f.precision
	}
	if f.limit != 0 {
		p.Limit = f.limit
	}
	return p, checkPlan(p)
}

func checkPlan(p bench.Plan) error {
	for _, numbers := range []struct {
		flag   string
		values []int
		most   int
	}{{"threads", p.Threads, 100_000}, {"running", p.Running, 10_000}} {
		for _, n := range numbers.values {
			if n < 1 || n > numbers.most {
				return exit.Usage("--%s %d: give 1 to %d", numbers.flag, n, numbers.most)
			}
		}
	}
	for _, hz := range p.Freqs {
		if !(hz >= minFreq && hz <= maxFreq) {
			return exit.Usage("--freq %v: give %d to %d", hz, minFreq, maxFreq)
		}
	}
	if p.Engine != engineAuto && p.Engine != enginePtrace && p.Engine != enginePerf {
		return wrongEngine(p.Engine)
	}
	if p.Pairs < 3 {
		return exit.Usage("--pairs %d: give at least 3", p.Pairs)
	}
	return nil
}

// run writes the results also after a failure or Ctrl-C.
func (f *benchFlags) run() error {
	console.NoteDiscarded()
	if isOneOutput(f.json, f.svg) {
		return exit.Usage("--json and --svg name one file; give two")
	}
	for _, file := range []struct{ flag, path string }{{"json", f.json}, {"svg", f.svg}} {
		if file.path == "" {
			continue
		}
		if err := outfile.Check(file.path); err != nil {
			return fmt.Errorf("--%s: %w; give another place", file.flag, err)
		}
	}
	res, failure := f.result()
	if res == nil || failure != nil && len(res.Rows) == 0 {
		return failure
	}
	bench.Summary(&console.Stdout, res)
	return cmp.Or(failure, f.write(res))
}

func (f *benchFlags) write(res *bench.Result) error {
	if f.json != "" {
		err := profile.WriteFileAtomic(f.json, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(res)
		})
		if err != nil {
			return flagError("json", err)
		}
	}
	if f.svg == "" {
		return nil
	}
	return flagError("svg", profile.WriteFileAtomic(f.svg, func(w io.Writer) error { return bench.SVG(w, res) }))
}

func (f *benchFlags) result() (*bench.Result, error) {
	plan, err := f.plan()
	if err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bench.Header(&console.Stdout)
	res, err := bench.Run(ctx, plan, version(), bench.Report{
		Row:  func(r bench.Row) { bench.Line(&console.Stdout, r) },
		Skip: func(line string) { console.Infof("%s", line) },
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return res, errors.New("the benchmark was interrupted; the rows that are shown are complete")
	case err != nil:
		return res, fmt.Errorf("the benchmark did not finish: %w", err)
	}
	return res, nil
}

func newBenchWorkload() *cobra.Command {
	var o load.Options
	cmd := &cobra.Command{
		Use:    "bench-workload",
		Hidden: true,
		Args:   noArgs,
		RunE: func(*cobra.Command, []string) error {
			return load.Run(context.Background(), o, os.Stdin, os.Stdout)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&o.Running, "running", 1, "")
	fl.IntVar(&o.Sleeping, "sleeping", 0, "")
	return cmd
}
