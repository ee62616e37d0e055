// SPDX-License-Identifier: Apache-2.0

// Command overhead measures the throughput that sampling costs programs, by number of threads, with prywalk and beside
// other tools. It makes the tables of benchmarks/results/overhead.md, and judges a result by the promises.
//
//	go -C benchmarks run ./overhead -quick -check
//	go -C benchmarks run ./overhead -peers -workload all -limit 90m
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"prywalk/benchmarks/bench"
	bare "prywalk/benchmarks/bench/load"
	"prywalk/benchmarks/command"
	"prywalk/benchmarks/overhead/load"
	"prywalk/benchmarks/overhead/peers"
	"prywalk/internal/store/profile"
)

func main() { command.Main("overhead", run) }

type settings struct {
	prywalk                          string
	quick, peers, check              bool
	json, svg, page, known, newKnown string
	from, workloads, engine          string
	threads, running, depths, freqs  string
	pairs                            int
	window, limit                    time.Duration
	precision                        float64
}

func run(ctx context.Context, args []string) error {
	if asked, err := bare.Asked(); asked {
		return err
	}
	if len(args) > 0 && args[0] == workload {
		return runLoad(ctx, args[1:])
	}
	var s settings
	fl := flag.NewFlagSet("overhead", flag.ContinueOnError)
	fl.StringVar(&s.prywalk, "prywalk", "bin/prywalk", "the program to measure")
	fl.BoolVar(&s.quick, "quick", false, "a short form that ends within 50 s")
	fl.BoolVar(&s.peers, "peers", false, "measure the other tools that are installed, too")
	fl.BoolVar(&s.check, "check", false, "fail where the whole interval is below what is promised for busy threads")
	fl.StringVar(&s.json, "json", "", "write the result to this file")
	fl.StringVar(&s.svg, "svg", "", "write a chart to this file")
	fl.StringVar(&s.workloads, "workload", bare.Busy, "kinds of work: all, or some of "+strings.Join(loadNames(), ","))
	fl.StringVar(&s.threads, "threads", "", "numbers of threads")
	fl.StringVar(&s.freqs, "freq", "", "sampling rates in Hz")
	fl.StringVar(&s.running, "running", "", "how many of the threads work")
	fl.StringVar(&s.depths, "depth", "10,100,1000,10000", "frames below the work, for the workload deep")
	fl.IntVar(&s.pairs, "pairs", 0, "pairs for each row; with -precision the least")
	fl.DurationVar(&s.window, "window", 0, "length of a window; a pair has two")
	fl.DurationVar(&s.limit, "limit", 0, "make fewer pairs, but 3, so that it ends after about this time")
	fl.Float64Var(&s.precision, "precision", -1, "add pairs until the interval is within ± this many percent; 0: do not")
	fl.StringVar(&s.known, "known", "",
		"with -check: rows that this earlier -json was below the promise in fail only below its interval")
	fl.StringVar(&s.engine, "engine", "ptrace", "how running threads are sampled: ptrace (costs more), perf or auto")
	fl.StringVar(&s.from, "from", "", "measure nothing, but read these files that -json wrote")
	fl.StringVar(&s.newKnown, "write-known", "", "write what a later -known is to read to this file")
	fl.StringVar(&s.page, "docs", "", "write tables between the markers of this page")
	if err := fl.Parse(args); err != nil {
		return err
	}
	return s.run(ctx)
}

func runLoad(ctx context.Context, args []string) error {
	var o load.Options
	fl := flag.NewFlagSet(workload, flag.ContinueOnError)
	fl.StringVar(&o.Kind, "kind", load.Wake, "one of "+strings.Join(slices.Concat(load.Kinds(), load.Servers()), ", "))
	fl.IntVar(&o.Running, "running", 1, "threads that work")
	fl.IntVar(&o.Sleeping, "sleeping", 0, "threads that sleep")
	fl.IntVar(&o.Depth, "depth", 1, "frames below the work")
	if err := fl.Parse(args); err != nil {
		return err
	}
	return load.Run(ctx, o, os.Stdin, os.Stdout)
}

func (s *settings) run(ctx context.Context) error {
	res, failure := s.result(ctx)
	if res == nil || failure != nil && len(res.Rows) == 0 {
		return failure
	}
	bench.Summary(os.Stdout, res)
	summary(os.Stdout, res)
	if err := s.write(res); err != nil {
		return errors.Join(failure, err)
	}
	if failure == nil && s.check {
		return s.judge(res)
	}
	return failure
}

func (s *settings) result(ctx context.Context) (*bench.Result, error) {
	if s.from != "" {
		res, err := read(strings.Split(s.from, ","))
		if err != nil {
			return nil, err
		}
		bench.Header(os.Stdout)
		for _, r := range res.Rows {
			bench.Line(os.Stdout, r)
		}
		return res, nil
	}
	plan, err := s.plan()
	if err != nil {
		return nil, err
	}
	version, err := exec.CommandContext(ctx, plan.Self, "version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w; run make build", s.prywalk, err)
	}
	name, _, _ := strings.Cut(strings.TrimSpace(string(version)), "\n")
	bench.Header(os.Stdout)
	return bench.Run(ctx, plan, name, bench.Report{
		Row:  func(r bench.Row) { bench.Line(os.Stdout, r) },
		Skip: func(line string) { fmt.Fprintln(os.Stderr, line) },
	})
}

func (s *settings) plan() (p bench.Plan, err error) {
	self, err := filepath.Abs(s.prywalk)
	if err != nil {
		return p, err
	}
	p = bench.Full(self)
	if s.quick {
		p = bench.Quick(self)
		if s.threads+s.freqs+s.running != "" || s.pairs > 0 || s.window != 0 {
			p.Limit = 0
		}
	}
	if p.Engine = s.engine; s.peers {
		p.Peers = peers.All()
	}
	var depths []int
	err = errors.Join(numbers(s.threads, &p.Threads), numbers(s.running, &p.Running), numbers(s.depths, &depths),
		numbers(s.freqs, &p.Freqs))
	if s.threads != "" {
		p.PeerThreads = p.Threads
	}
	names := strings.Split(s.workloads, ",")
	if s.workloads == "all" {
		names = loadNames()
	}
	p.Loads = nil
	for _, name := range names {
		if !slices.Contains(loadNames(), name) {
			return p, fmt.Errorf("-workload %q: give all, or some of %s", name, strings.Join(loadNames(), ","))
		}
		p.Loads = append(p.Loads, loadOf(name, depths))
	}
	if s.pairs != 0 {
		p.Pairs, p.PeerPairs = s.pairs, s.pairs
	}
	if s.window != 0 {
		p.Window = s.window
	}
	if s.precision >= 0 {
		p.Precision = s.precision / 100
	}
	if s.limit != 0 {
		p.Limit = s.limit
	}
	return p, err
}

func numbers[T int | float64](text string, out *[]T) error {
	if text == "" {
		return nil
	}
	*out = nil
	for field := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseFloat(field, 64)
		if err != nil || x <= 0 || x > 1e6 {
			return fmt.Errorf("%q is no list of numbers: %w", text, err)
		}
		*out = append(*out, T(x))
	}
	return nil
}

func (s *settings) judge(res *bench.Result) error {
	var known *bench.Result
	if s.known != "" {
		var err error
		if known, err = read([]string{s.known}); err != nil {
			return err
		}
	}
	missed, unjudged := broken(res, known)
	for _, line := range unjudged {
		fmt.Fprintln(os.Stderr, "skipped:", line)
	}
	if len(missed) > 0 {
		return fmt.Errorf("sampling costs more than is promised: %s", strings.Join(missed, "; "))
	}
	return nil
}

func (s *settings) write(res *bench.Result) error {
	if err := writeJSON(s.json, res); err != nil {
		return err
	}
	if s.page != "" {
		if err := writePage(s.page, s.svg, res); err != nil {
			return err
		}
	}
	if s.svg != "" {
		if err := profile.WriteFileAtomic(s.svg, func(w io.Writer) error { return bench.SVG(w, res) }); err != nil {
			return err
		}
	}
	if s.newKnown == "" {
		return nil
	}
	known, err := knownOf(res)
	if err != nil {
		return err
	}
	return writeJSON(s.newKnown, known)
}

func writeJSON(path string, res *bench.Result) error {
	if path == "" {
		return nil
	}
	return profile.WriteFileAtomic(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(res)
	})
}
