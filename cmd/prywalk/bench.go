package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"prywalk/internal/bench"
	"prywalk/internal/profile"
)

// benchFlags are what the command line of bench says.
type benchFlags struct {
	quick     bool
	json, svg string
	threads   []int
	freqs     []float64
	running   []int
	pairs     int
	window    seconds
	census    string
}

func newBench() *cobra.Command {
	f := &benchFlags{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "what being sampled costs on this machine, against the number of threads",
		Long: `  prywalk bench --quick
  prywalk bench --json bench.json --svg bench.svg

Starts a workload with few running and many sleeping threads, measures its throughput
without and with sampling in pairs, and prints the ratio with its 95 % interval, and
the stops and system calls that the sampling took.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run() },
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.quick, "quick", false, "a short form that ends within 50 s")
	fl.StringVar(&f.json, "json", "", "write the result to this file")
	fl.StringVar(&f.svg, "svg", "", "write a chart to this file")
	fl.IntSliceVar(&f.threads, "threads", nil, "numbers of threads")
	fl.Float64SliceVar(&f.freqs, "freq", nil, "ticks a second")
	fl.IntSliceVar(&f.running, "running", nil, "how many of the threads compute")
	fl.IntVar(&f.pairs, "pairs", 0, "pairs for each row")
	fl.Var(&f.window, "window", "length of a window; a pair has two")
	fl.StringVar(&f.census, "census", "proc", "how threads' clocks are read: proc, bpf, auto")
	_ = fl.MarkHidden("census") // it exists
	fl.SortFlags = false
	return cmd
}

// plan makes the plan that the flags ask for.
func (f *benchFlags) plan() (bench.Plan, error) {
	p := bench.Full()
	if f.quick {
		p = bench.Quick()
	}
	if len(f.threads) > 0 {
		p.Threads = f.threads
	}
	if len(f.freqs) > 0 {
		p.Freqs = f.freqs
	}
	if len(f.running) > 0 {
		p.Running = f.running
	}
	if f.pairs != 0 {
		p.Pairs = f.pairs
	}
	if f.window != 0 {
		p.Window = time.Duration(f.window)
	}
	return p, checkPlan(p)
}

func checkPlan(p bench.Plan) error {
	for _, n := range p.Threads {
		if n < 1 || n > 100000 {
			return usageError("--threads %d: give 1 to 100000", n)
		}
	}
	for _, n := range p.Running {
		if n < 1 || n > 10000 {
			return usageError("--running %d: give 1 to 10000", n)
		}
	}
	for _, hz := range p.Freqs {
		if !(hz >= minFreq && hz <= maxFreq) {
			return usageError("--freq %v: give %d to %d", hz, minFreq, maxFreq)
		}
	}
	if p.Pairs < 3 {
		return usageError("--pairs %d: give at least 3", p.Pairs)
	}
	return nil
}

func (f *benchFlags) run() error {
	plan, err := f.plan()
	if err != nil {
		return err
	}
	if plan.Census, err = openCensus(f.census); err != nil {
		return err
	}
	defer closeCensus(plan.Census)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bench.Header(os.Stdout)
	res, err := bench.Run(ctx, plan, version(), func(r bench.Row) { bench.Line(os.Stdout, r) })
	if err != nil {
		return fmt.Errorf("the benchmark did not finish: %w", err)
	}
	if f.json != "" {
		err := profile.WriteFileAtomic(f.json, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(res)
		})
		if err != nil {
			return err
		}
	}
	if f.svg != "" {
		return profile.WriteFileAtomic(f.svg, func(w io.Writer) error { return bench.SVG(w, res) })
	}
	return nil
}

// newBenchWorkload is the command that bench starts.
func newBenchWorkload() *cobra.Command {
	var running, sleeping int
	cmd := &cobra.Command{
		Use:    "bench-workload",
		Hidden: true,
		Args:   noArgs,
		RunE: func(*cobra.Command, []string) error {
			return bench.Workload(context.Background(), running, sleeping, os.Stdin, os.Stdout)
		},
	}
	cmd.Flags().IntVar(&running, "running", 1, "")
	cmd.Flags().IntVar(&sleeping, "sleeping", 0, "")
	return cmd
}
